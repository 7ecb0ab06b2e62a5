# expect: limit-hit memory
# tries: encodings on top of encodings
import base64

data = b"x" * 1_000_000
while True:
    data = base64.b64encode(data)
