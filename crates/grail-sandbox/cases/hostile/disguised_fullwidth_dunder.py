# expect: raised AttributeError
# tries: past the check of the source: a walk in other letters
().__ｃlass__
