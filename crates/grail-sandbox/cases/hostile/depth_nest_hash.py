# expect: limit-hit recursion
# tries: a hash a hundred thousand deep
nest = ()
for _ in range(100_000):
    nest = (nest,)
hash(nest)
