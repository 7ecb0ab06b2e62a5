# expect: limit-hit memory | limit-hit duration
# policy: max-duration = '300ms'
# tries: a tower of powers
(9 ** 9 ** 9) % 10
