# expect: rejected module-attribute
# tries: all combinations of combinations
import itertools

len(list(itertools.product(range(1000), repeat=4)))
