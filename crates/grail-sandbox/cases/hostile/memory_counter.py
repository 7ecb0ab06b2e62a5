# expect: limit-hit memory
# tries: a counter of ever new things
from collections import Counter

counts = Counter()
number = 0
while True:
    counts[str(number)] += 1
    number += 1
