# expect: limit-hit memory
# tries: one repetition of half a gigabyte
len("a" * 500_000_000)
