# expect: limit-hit output | limit-hit duration
# policy: max-duration = '300ms'
# tries: printing without an end
while True:
    print("all work and no play")
