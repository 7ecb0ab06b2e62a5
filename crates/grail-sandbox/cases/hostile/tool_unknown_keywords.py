# expect: tool-failed
# tools: echo
# tries: a call with keywords of its own making
echo(**{"va\x00lue": 1, "__class__": 2, "": 3})
