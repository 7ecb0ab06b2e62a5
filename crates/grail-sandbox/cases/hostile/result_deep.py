# expect: raised RuntimeError
# tries: a result a thousand deep
nest = []
for _ in range(1000):
    nest = [nest]
nest
