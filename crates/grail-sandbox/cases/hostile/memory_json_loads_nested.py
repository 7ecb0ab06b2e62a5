# expect: raised json.JSONDecodeError
# tries: a document of a hundred thousand opened brackets
import json

json.loads("[" * 100_000)
