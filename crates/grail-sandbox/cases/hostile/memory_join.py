# expect: limit-hit memory
# tries: joining what was small
part = "x" * 100_000
len(",".join([part] * 10_000))
