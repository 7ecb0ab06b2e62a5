# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: to catch the end of its time by name
try:
    while True:
        pass
except TimeoutError:
    result = "survived"
result
