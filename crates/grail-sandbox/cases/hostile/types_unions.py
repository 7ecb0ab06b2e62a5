# expect: value 1
# generate: "x = (x, 1) if c else (1, x)\n" * 40 + "1"
# check: types
# tries: a union that doubles with every line
x = 1
c = len("abc")
