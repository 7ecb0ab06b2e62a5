# expect: limit-hit duration | limit-hit memory
# policy: max-duration = '300ms'
# tries: an integer squared until nothing holds it
number = 3
while True:
    number = number * number
