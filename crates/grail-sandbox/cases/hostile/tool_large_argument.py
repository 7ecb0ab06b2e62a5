# expect: value 1000000
# tools: echo
# tries: an argument of a million characters
len(echo("a" * 1_000_000))
