# expect: raised NameError
# generate: "a" * 100000
# tries: a name of a hundred thousand letters
