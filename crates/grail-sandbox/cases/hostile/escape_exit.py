# expect: rejected builtin
# tries: to end the worker
exit(65)
