# expect: limit-hit recursion
# tries: a tuple of types a hundred thousand deep
types = (str,)
for _ in range(100_000):
    types = (types,)
isinstance(1, types)
