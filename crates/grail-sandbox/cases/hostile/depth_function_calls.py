# expect: limit-hit recursion
# tries: calls without an end
def call():
    return call()

call()
