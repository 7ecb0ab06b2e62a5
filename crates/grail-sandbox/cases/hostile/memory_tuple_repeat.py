# expect: limit-hit memory
# tries: one tuple of a hundred million items
len((0,) * 100_000_000)
