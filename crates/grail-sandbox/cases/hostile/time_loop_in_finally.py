# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: to go on while it is being ended
try:
    while True:
        pass
finally:
    while True:
        pass
