# expect: limit-hit memory | limit-hit duration
# policy: max-duration = '300ms'
# tries: an integer with a billion digits
(10 ** 1_000_000_000) % 10
