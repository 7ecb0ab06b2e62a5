# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: division of enormous integers
number = 7 ** 100_000
while number:
    number = number * number // (number + 1) + 1
number
