# expect: limit-hit memory | limit-hit duration
# policy: max-duration = '300ms'
# tries: garbage that only a collector of cycles finds
while True:
    first = ["x" * 1000]
    second = [first]
    first.append(second)
