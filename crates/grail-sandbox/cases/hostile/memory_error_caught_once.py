# expect: limit-hit memory
# tries: to catch the refusal and end well
try:
    size = len("a" * 500_000_000)
except BaseException:
    size = "survived"
size
