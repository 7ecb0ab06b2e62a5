# expect: limit-hit memory
# tries: padding with zeroes
len("1".zfill(2_000_000_000))
