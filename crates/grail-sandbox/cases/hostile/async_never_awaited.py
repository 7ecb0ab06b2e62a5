# expect: value 1
# tries: a task that nobody waits for
async def forever():
    while True:
        pass

forever()
1
