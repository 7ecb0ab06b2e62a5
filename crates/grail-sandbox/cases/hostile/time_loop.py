# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: a loop without an end
while True:
    pass
