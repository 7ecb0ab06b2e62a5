# expect: value false
# tries: a search through a huge range
"x" in range(10_000_000_000)
