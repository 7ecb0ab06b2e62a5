# expect: value "ValueError('x')"
# tries: an exception that is returned, not raised
ValueError("x")
