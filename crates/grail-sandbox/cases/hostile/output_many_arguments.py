# expect: limit-hit memory | limit-hit output | limit-hit duration
# policy: max-duration = '300ms'
# tries: a print of a million things
print(*range(10_000_000))
