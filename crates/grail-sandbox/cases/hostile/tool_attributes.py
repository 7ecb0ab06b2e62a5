# expect: rejected internal-attribute
# tools: echo
# tries: to look inside a tool
echo.__globals__
