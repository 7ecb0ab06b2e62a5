# expect: limit-hit memory
# tries: many strings just below what one check would notice
kept = []
while True:
    kept.append("a" * 90_000)
