# expect: rejected reserved-name
# tries: to use the name that carries results
grail_(1)
