# expect: limit-hit memory
# tries: a queue that only grows
from collections import deque

queue = deque()
while True:
    queue.append("item" * 100)
