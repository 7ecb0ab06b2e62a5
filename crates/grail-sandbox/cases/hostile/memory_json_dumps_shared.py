# expect: limit-hit memory
# tries: a small graph whose text is huge
import json

nest = ["x"]
for _ in range(40):
    nest = [nest, nest]
len(json.dumps(nest))
