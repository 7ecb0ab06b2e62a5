# expect: raised RuntimeError
# tries: one task awaited twice
async def one():
    return 1

task = one()
(await task, await task)
