# expect: value null
# tries: to speak to the terminal of whoever reads
print("\x1b[2J\x1b]0;owned\x07\x00")
