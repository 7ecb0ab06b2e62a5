# expect: rejected syntax-error
# generate: "x = " + "[" * 5000 + "]" * 5000
# check: types
# tries: lists five thousand deep for the checker
