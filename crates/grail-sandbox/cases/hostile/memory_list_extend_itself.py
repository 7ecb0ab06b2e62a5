# expect: limit-hit memory
# tries: a list that extends itself
items = [1, 2, 3]
while True:
    items.extend(items)
