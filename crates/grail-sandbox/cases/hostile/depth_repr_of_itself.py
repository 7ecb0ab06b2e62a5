# expect: limit-hit recursion
# tries: a representation that asks for itself
class Mirror:
    def __repr__(self):
        return repr(self)

repr(Mirror())
