# expect: raised AttributeError
# tries: to walk attributes inside a format
"{0.__class__.__bases__}".format(())
