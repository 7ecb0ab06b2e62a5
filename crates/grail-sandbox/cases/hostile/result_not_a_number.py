# expect: value "nan"
# tries: a result that is not even equal to itself
float("nan")
