# expect: limit-hit source-size
# generate: "x = 1\n" * 200000
# tries: a source of a megabyte
