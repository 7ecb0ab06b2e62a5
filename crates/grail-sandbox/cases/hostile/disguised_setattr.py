# expect: raised AttributeError
# tries: past the check of the source: to change what all code uses
setattr(str, "upper", lambda text: "owned")
"a".upper()
