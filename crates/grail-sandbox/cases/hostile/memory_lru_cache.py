# expect: rejected import-name
# tries: a cache without a bound
from functools import cache

@cache
def remember(number):
    return "x" * 1000

number = 0
while True:
    remember(number)
    number += 1
