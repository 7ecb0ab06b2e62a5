# expect: limit-hit duration | limit-hit memory
# policy: max-duration = '300ms'
# tries: a loop that feeds itself
items = [1]
for item in items:
    items.append(item)
