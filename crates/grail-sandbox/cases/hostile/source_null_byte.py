# expect: rejected syntax-error
# generate: "1 + \u0000 1"
# tries: a null byte in the middle
