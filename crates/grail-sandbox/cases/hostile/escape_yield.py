# expect: rejected yield
# tries: a generator, which the engine has not
def numbers():
    yield 1

list(numbers())
