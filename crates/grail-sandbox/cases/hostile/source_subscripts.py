# expect: raised SyntaxError
# generate: "a" + "[0]" * 20000
# tries: a chain of twenty thousand subscripts
a = 1
