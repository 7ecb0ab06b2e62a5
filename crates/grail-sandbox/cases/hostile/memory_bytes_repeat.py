# expect: limit-hit memory
# tries: one bytes object of half a gigabyte
len(b"\x00" * 500_000_000)
