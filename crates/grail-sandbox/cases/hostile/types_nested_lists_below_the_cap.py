# expect: limit-hit check-time
# policy: check-timeout = '1s'
# generate: "x = " + "[" * 150 + "]" * 150 + "\nNone"
# check: types
# tries: lists as deep as the parser takes
