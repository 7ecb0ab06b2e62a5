# expect: rejected internal-attribute
# tries: to walk the frames of an exception
try:
    1 / 0
except ZeroDivisionError as error:
    frame = error.__traceback__.tb_frame
frame.f_globals
