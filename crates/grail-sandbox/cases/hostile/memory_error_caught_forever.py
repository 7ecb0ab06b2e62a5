# expect: limit-hit memory | limit-hit duration
# policy: max-duration = '300ms'
# tries: to catch the refusal and go on
while True:
    try:
        len("a" * 500_000_000)
    except MemoryError:
        pass
