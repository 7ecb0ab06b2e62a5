# expect: raised AttributeError
# tries: past the check of the source: to reach the names of a function
def function():
    pass

getattr(function, "__glob" + "als__")
