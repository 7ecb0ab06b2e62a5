# expect: limit-hit recursion
# tries: a comparison without an end
first, second = [], []
first.append(second)
second.append(first)
first == second
