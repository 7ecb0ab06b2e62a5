# expect: limit-hit check-time
# policy: check-timeout = '1s'
# generate: "a" + " and a" * 3000
# check: types
# tries: a condition that takes the checker ages
a = 1
