# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: exceptions without an end
while True:
    try:
        raise ValueError("x")
    except ValueError:
        pass
