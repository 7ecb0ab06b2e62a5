# expect: value -1988267908083188402
# tries: a hash of a graph that takes ages
nest = (1,)
for _ in range(60):
    nest = (nest, nest)
hash(nest)
