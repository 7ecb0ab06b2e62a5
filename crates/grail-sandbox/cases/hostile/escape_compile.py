# expect: rejected builtin
# tries: to make code from text
compile("1", "x", "eval")
