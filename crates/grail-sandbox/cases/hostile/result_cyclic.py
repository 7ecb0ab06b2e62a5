# expect: value ["[...]"]
# tries: a result that holds itself
items = []
items.append(items)
items
