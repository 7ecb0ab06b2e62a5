# expect: rejected function-attribute
# tries: to reach the names of a function
def function():
    pass

function.__globals__["__builtins__"]
