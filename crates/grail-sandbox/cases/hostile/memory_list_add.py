# expect: limit-hit memory
# tries: a list that doubles by addition
items = [0]
while True:
    items = items + items
