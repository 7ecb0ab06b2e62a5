# expect: limit-hit memory
# tries: an f-string with an enormous precision
len(f"{1.5:.2000000000f}")
