# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: one operation that takes hours
pow(3, 10 ** 100_000, 10 ** 100_000 + 7)
