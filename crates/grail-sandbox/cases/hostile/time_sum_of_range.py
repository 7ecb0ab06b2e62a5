# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: one call over a huge range
sum(range(10_000_000_000))
