# expect: limit-hit memory
# tries: a string that doubles until memory is gone
text = "a"
while True:
    text = text + text
