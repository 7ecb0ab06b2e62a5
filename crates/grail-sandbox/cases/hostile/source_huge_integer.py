# expect: raised SyntaxError
# generate: "9" * 100000 + " % 10"
# tries: a literal of a hundred thousand digits
