# expect: limit-hit suspensions
# tools: echo
# tries: to catch the end of its calls
while True:
    try:
        echo(1)
    except BaseException:
        pass
