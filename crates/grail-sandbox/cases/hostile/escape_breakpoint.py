# expect: rejected builtin
# tries: to stop in a debugger
breakpoint()
