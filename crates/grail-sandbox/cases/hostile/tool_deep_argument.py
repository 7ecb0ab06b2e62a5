# expect: raised RuntimeError
# tools: echo
# tries: an argument a thousand deep
nest = []
for _ in range(1000):
    nest = [nest]
echo(nest)
