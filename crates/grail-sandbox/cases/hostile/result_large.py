# expect: limit-hit memory | limit-hit result-size
# tries: a result of twenty megabytes
"a" * 20_000_000
