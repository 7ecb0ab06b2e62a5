# expect: rejected syntax-error
# generate: "1 if 1 else " * 5000 + "1"
# tries: five thousand nested conditionals
