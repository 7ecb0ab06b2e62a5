# expect: value ["[...]"]
# tools: echo
# tries: an argument that holds itself
items = []
items.append(items)
echo(items)
