# expect: limit-hit memory
# tries: a list that only grows
items = []
while True:
    items.append(1)
