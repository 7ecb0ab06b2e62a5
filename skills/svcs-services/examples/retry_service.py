"""Try a call that may fail for a moment again, waiting longer each time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import svcs

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class RetryService:
    """Repeats what failed with a connection or a time-out; other errors go through."""

    attempts: int = 4
    first_delay: float = 0.1
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def call(self, action: Callable[[], Awaitable[Value]]) -> Value:
        for attempt in range(self.attempts - 1):
            try:
                return await action()
            except (ConnectionError, TimeoutError):
                await self.sleep(self.first_delay * 2**attempt)
        return await action()


def register(registry: svcs.Registry) -> None:
    registry.register_factory(RetryService, RetryService)
