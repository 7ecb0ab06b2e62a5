# expect: raised ValueError
# tries: the digits of an enormous integer
len(str(7 ** 1_000_000))
