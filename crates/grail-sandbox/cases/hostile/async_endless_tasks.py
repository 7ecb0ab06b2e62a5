# expect: limit-hit duration | limit-hit memory | limit-hit recursion | limit-hit suspensions
# policy: max-duration = '300ms'
# tries: tasks that start tasks
import asyncio

async def spawn():
    await asyncio.gather(spawn(), spawn())

await spawn()
