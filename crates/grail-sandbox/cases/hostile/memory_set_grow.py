# expect: limit-hit memory
# tries: a set that only grows
seen = set()
number = 0
while True:
    seen.add(number)
    number += 1
