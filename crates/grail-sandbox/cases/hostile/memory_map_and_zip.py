# expect: limit-hit memory | limit-hit duration
# policy: max-duration = '300ms'
# tries: lazy chains that the engine makes lists of
len(list(zip(map(str, range(100_000_000)), range(100_000_000))))
