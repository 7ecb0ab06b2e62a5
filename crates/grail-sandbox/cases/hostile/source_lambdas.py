# expect: rejected syntax-error
# generate: "lambda: " * 5000 + "1"
# tries: five thousand nested lambdas
