# expect: value 100000
# generate: "len('" + "a" * 100000 + "')"
# tries: a literal of a hundred thousand letters
