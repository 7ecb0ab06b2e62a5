# expect: tool-failed
# tools: echo
# tries: a call with ten thousand arguments
echo(*range(10_000))
