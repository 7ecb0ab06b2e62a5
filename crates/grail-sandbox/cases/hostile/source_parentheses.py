# expect: rejected syntax-error
# generate: "(" * 50000 + "1" + ")" * 50000
# tries: parentheses fifty thousand deep
