# expect: limit-hit memory
# tries: objects with fields
class Node:
    def __init__(self, following):
        self.following = following

node = None
while True:
    node = Node(node)
