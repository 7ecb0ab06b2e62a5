# expect: raised AttributeError
# tries: past the check of the source: a walk inside a format
("{0." + "__cla" + "ss__}").format(1)
