# expect: value "<class 'int'>"
# tries: a type as its result
type(1)
