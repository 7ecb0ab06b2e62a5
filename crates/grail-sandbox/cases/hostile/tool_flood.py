# expect: limit-hit suspensions
# tools: echo
# tries: calls without an end
while True:
    echo(1)
