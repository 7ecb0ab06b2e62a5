# expect: value 403
# tries: a representation a hundred thousand deep
nest = []
for _ in range(100_000):
    nest = [nest]
len(repr(nest))
