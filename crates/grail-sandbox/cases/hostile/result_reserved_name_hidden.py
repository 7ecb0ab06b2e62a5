# expect: rejected reserved-name
# tries: to use that name in other letters
ｇrail_(1)
