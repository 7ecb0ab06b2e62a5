# expect: rejected custom-exception
# tries: an exception that nothing catches
class Own(BaseException):
    pass

raise Own()
