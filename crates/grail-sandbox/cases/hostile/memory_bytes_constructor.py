# expect: limit-hit memory
# tries: zeroed bytes, which cost the caller nothing
len(bytes(500_000_000))
