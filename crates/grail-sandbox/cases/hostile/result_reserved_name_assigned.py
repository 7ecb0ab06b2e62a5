# expect: rejected reserved-name
# tries: to replace the name that carries results
def grail_(value):
    return 0

return 1
