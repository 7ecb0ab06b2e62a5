# expect: value 0
# tools: echo
# tries: to be a tool itself
def echo(value):
    return 0

echo(1)
