# expect: limit-hit duration | limit-hit memory | limit-hit recursion
# policy: max-duration = '300ms'
# tries: a comparison of graphs that takes ages
first, second = [1], [1]
for _ in range(60):
    first, second = [first, first], [second, second]
first == second
