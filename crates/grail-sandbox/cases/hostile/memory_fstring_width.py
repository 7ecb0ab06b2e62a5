# expect: limit-hit memory
# tries: an f-string with an enormous width
width = 2_000_000_000
len(f"{1:>{width}}")
