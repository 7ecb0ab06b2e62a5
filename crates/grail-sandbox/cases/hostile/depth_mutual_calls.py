# expect: limit-hit recursion
# tries: two functions that call each other
def first(number):
    return second(number + 1)

def second(number):
    return first(number + 1)

first(0)
