# expect: rejected internal-attribute
# tries: to walk from a tuple to every class there is
().__class__.__bases__[0].__subclasses__()
