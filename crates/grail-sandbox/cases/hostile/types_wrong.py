# expect: type-errors
# check: types
# tries: an error, which must stop it before it runs
print("ran")
len(1)
