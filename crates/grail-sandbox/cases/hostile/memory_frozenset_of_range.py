# expect: limit-hit memory
# tries: a frozen set of a huge range
len(frozenset(range(100_000_000)))
