# expect: value 1
# tries: half a character
len("\ud800")
