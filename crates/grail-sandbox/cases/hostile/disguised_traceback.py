# expect: raised AttributeError
# tries: past the check of the source: to walk the frames of an exception
try:
    1 / 0
except ZeroDivisionError as error:
    frame = getattr(error, "__trace" + "back__")
frame
