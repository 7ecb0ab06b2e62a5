# expect: raised SyntaxError
# generate: "elif a == 2:\n    pass\n" * 3000
# tries: three thousand branches
a = 1
if a == 0:
    pass
