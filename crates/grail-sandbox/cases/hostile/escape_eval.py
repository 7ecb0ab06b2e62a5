# expect: rejected builtin
# tries: to make code from text
eval("1 + 1")
