# expect: rejected special-method
# tries: an attribute that asks for itself
class Mirror:
    def __getattr__(self, name):
        return getattr(self, name)

Mirror().face
