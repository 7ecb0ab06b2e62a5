# expect: limit-hit memory
# tries: a split into millions of pieces
len(("a " * 10_000_000).split(" "))
