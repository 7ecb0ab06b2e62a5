# expect: limit-hit memory | limit-hit duration
# policy: max-duration = '300ms'
# tries: a hundred thousand tasks at once
import asyncio

async def one():
    return 1

len(await asyncio.gather(*[one() for _ in range(100_000)]))
