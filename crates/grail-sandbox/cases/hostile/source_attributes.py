# expect: raised SyntaxError
# generate: "a" + ".b" * 20000
# tries: a chain of twenty thousand attributes
a = 1
