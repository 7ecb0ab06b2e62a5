# expect: limit-hit duration | limit-hit suspensions | limit-hit memory
# policy: max-duration = '300ms'
# tools: echo
# tries: ten thousand calls at once
import asyncio

async def call(number):
    return await echo(number)

len(await asyncio.gather(*[call(number) for number in range(10_000)]))
