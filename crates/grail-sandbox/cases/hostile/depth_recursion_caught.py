# expect: value "survived"
# tries: to catch the end of its calls
def call():
    return call()

try:
    call()
except RecursionError:
    result = "survived"
result
