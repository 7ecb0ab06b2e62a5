# expect: value "[[...]]"
# tries: a list that holds itself
items = []
items.append(items)
repr(items)
