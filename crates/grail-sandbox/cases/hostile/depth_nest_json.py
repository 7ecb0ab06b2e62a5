# expect: limit-hit recursion
# tries: a document a hundred thousand deep
import json

nest = []
for _ in range(100_000):
    nest = [nest]
len(json.dumps(nest))
