# expect: limit-hit memory
# tries: text that grows when it is encoded
len(("\U0001f600" * 20_000_000).encode("utf-8"))
