# expect: limit-hit recursion
# tries: a comparison a hundred thousand deep
first, second = [], []
for _ in range(100_000):
    first, second = [first], [second]
first == second
