# expect: raised NameError
# tries: a name in other letters for a name that is refused
ｏｓ
