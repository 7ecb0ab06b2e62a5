# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: to catch the end of its time
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
