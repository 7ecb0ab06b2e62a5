# expect: rejected module-attribute
# tries: to sleep through its limits
import asyncio

await asyncio.sleep(1_000_000)
