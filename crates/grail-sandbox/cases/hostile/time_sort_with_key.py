# expect: limit-hit duration | limit-hit memory
# policy: max-duration = '300ms'
# tries: a sort whose key never answers
def key(item):
    while True:
        pass

sorted([3, 1, 2], key=key)
