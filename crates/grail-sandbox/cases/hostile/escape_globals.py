# expect: rejected builtin
# tries: to reach all names
globals()["__builtins__"]
