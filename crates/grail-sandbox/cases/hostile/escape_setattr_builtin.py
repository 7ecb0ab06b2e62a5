# expect: rejected method-of-class
# tries: to change what all code uses
str.upper = lambda self: "owned"
