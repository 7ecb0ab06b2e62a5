# expect: limit-hit memory
# tries: a dictionary that only grows
table = {}
number = 0
while True:
    table[number] = number
    number += 1
