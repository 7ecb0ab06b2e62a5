# expect: limit-hit memory
# tries: padding
len("a".center(2_000_000_000))
