# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: a search that goes back and forth
text = "a" * 200_000
count = 0
while True:
    count += text.find("a" * 1000 + "b")
