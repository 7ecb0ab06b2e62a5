# expect: rejected function-attribute
# tries: to replace the code of a function
def function():
    pass

function.__code__.replace(co_code=b"d")
