# expect: limit-hit output | limit-hit duration
# policy: max-duration = '300ms'
# tries: a line without an end
while True:
    print("a", end="")
