# expect: limit-hit output | limit-hit duration
# policy: max-duration = '300ms'
# tries: to catch the end of its output
while True:
    try:
        print("a" * 1000)
    except BaseException:
        pass
