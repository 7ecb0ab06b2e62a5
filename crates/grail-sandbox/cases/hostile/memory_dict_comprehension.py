# expect: limit-hit memory
# tries: a comprehension over a huge range
len({number: str(number) for number in range(100_000_000)})
