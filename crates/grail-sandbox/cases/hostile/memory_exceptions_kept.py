# expect: limit-hit memory | limit-hit duration
# policy: max-duration = '300ms'
# tries: exceptions that are kept
kept = []
while True:
    try:
        raise ValueError("x" * 10_000)
    except ValueError as error:
        kept.append(error)
