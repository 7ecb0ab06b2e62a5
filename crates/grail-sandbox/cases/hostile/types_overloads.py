# expect: value 0
# generate: "x = x + 1 if c else x * 2\n" * 60 + "0"
# check: types
# tries: arithmetic on literals that multiply
c = len("abc")
x = 1
