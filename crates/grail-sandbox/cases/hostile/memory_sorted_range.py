# expect: limit-hit memory
# tries: a sorted copy of a huge range
sorted(range(500_000_000))[0]
