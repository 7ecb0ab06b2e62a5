# expect: limit-hit duration | limit-hit recursion
# policy: max-duration = '300ms'
# tries: to catch the end of its calls and call again
def call():
    try:
        call()
    except RecursionError:
        call()

call()
