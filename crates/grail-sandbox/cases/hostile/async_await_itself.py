# expect: raised RuntimeError
# tries: a task that waits for itself
async def wait():
    return await task

task = wait()
await task
