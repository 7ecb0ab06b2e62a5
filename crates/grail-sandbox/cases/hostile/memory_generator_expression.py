# expect: limit-hit memory | limit-hit duration
# policy: max-duration = '300ms'
# tries: a lazy sum that the engine makes a list of
sum(number for number in range(1_000_000_000))
