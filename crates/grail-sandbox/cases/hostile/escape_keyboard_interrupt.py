# expect: raised KeyboardInterrupt
# tries: to look like a person at the keyboard
raise KeyboardInterrupt("now")
