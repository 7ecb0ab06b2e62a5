# expect: raised AttributeError
# tries: to walk attributes by text
getattr(getattr((), "__cl" + "ass__"), "__sub" + "classes__")()
