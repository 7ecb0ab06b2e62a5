# expect: limit-hit output | limit-hit memory
# tries: one enormous print
print("a" * 20_000_000)
