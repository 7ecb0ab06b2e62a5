# expect: limit-hit memory | limit-hit result-size
# tries: a result of a million items
[0] * 1_000_000
