# expect: raised AttributeError
# tries: past the check of the source: to walk from a tuple to every class there is
name = "__cla" + "ss__"
getattr((), name)
