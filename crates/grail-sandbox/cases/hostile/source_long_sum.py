# expect: raised SyntaxError
# generate: "1+" * 20000 + "1"
# tries: a sum whose tree is twenty thousand deep
