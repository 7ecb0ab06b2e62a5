# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: calls that call
def fibonacci(number):
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)

fibonacci(60)
