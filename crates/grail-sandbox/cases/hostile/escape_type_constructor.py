# expect: raised TypeError
# tries: to make a class from nothing
type("Own", (object,), {"__del__": print})
