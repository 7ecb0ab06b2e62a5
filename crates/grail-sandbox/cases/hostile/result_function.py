# expect: value "<function '<lambda>' at 0xc>"
# tries: a function as its result
lambda: 1
