# expect: limit-hit memory
# tries: a document whose values weigh far more than its text
import json

len(json.loads("[" + "[]," * 2_000_000 + "[]]"))
