# expect: rejected internal-attribute
# tries: to walk from a string to every class there is
"".__class__.__mro__[1].__subclasses__()
