# expect: raised NotImplementedError
# tools: echo
# tries: a call where the engine cannot wait
sorted([3, 1, 2], key=echo)
