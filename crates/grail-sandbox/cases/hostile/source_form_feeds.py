# expect: value 2
# tries: white space that is not
1 + 1
