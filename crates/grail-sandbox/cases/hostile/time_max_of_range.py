# expect: limit-hit duration | limit-hit memory
# policy: max-duration = '300ms'
# tries: one call over a huge range, with a key
max(range(10_000_000_000), key=lambda number: -number)
