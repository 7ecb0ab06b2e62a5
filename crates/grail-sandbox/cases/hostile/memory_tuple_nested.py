# expect: limit-hit memory
# tries: a tuple that holds its former self twice, printed
nest = (1,)
for _ in range(60):
    nest = (nest, nest)
len(repr(nest))
