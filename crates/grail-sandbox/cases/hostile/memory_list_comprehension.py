# expect: limit-hit memory
# tries: a comprehension over a huge range
len([number for number in range(1_000_000_000)])
