# expect: limit-hit suspensions
# tools: echo
# tries: ten thousand calls in tasks of their own
import asyncio

async def call(number):
    return echo(number)

len(await asyncio.gather(*[call(number) for number in range(10_000)]))
