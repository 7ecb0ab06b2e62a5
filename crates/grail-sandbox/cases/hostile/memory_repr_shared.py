# expect: limit-hit memory
# tries: a small graph whose representation is huge
nest = ["x"]
for _ in range(40):
    nest = [nest, nest]
len(str(nest))
