# expect: limit-hit memory
# tries: a list of a huge range
len(list(range(1_000_000_000)))
