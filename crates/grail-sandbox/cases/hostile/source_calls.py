# expect: raised SyntaxError
# generate: "a" + "()" * 20000
# tries: a chain of twenty thousand calls
a = 1
