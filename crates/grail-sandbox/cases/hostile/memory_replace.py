# expect: limit-hit memory
# tries: a replacement that multiplies
len(("a" * 100_000).replace("a", "b" * 100_000))
