# expect: limit-hit duration
# policy: max-duration = '300ms'
# tries: loops in loops
total = 0
for first in range(100_000):
    for second in range(100_000):
        total += first ^ second
total
