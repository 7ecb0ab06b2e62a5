"""Share a pool of connections among requests and close it when the application stops."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import svcs


class Connection(Protocol):
    """What can be borrowed."""

    async def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class PooledConnectionService:
    """A connection that belongs to one request."""

    connection: Connection


class ConnectionPoolService:
    """Opens connections when they are first needed, and never more than `size`."""

    def __init__(
        self, *, connect: Callable[[], Awaitable[Connection]], size: int
    ) -> None:
        self._connect = connect
        self._idle: list[Connection] = []
        self._room = asyncio.Semaphore(size)

    @asynccontextmanager
    async def borrow(self) -> AsyncGenerator[Connection, None]:
        async with self._room:
            connection = self._idle.pop() if self._idle else await self._connect()
            try:
                yield connection
            finally:
                self._idle.append(connection)

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().close()


async def lend_connection(
    svcs_container: svcs.Container,
) -> AsyncIterator[PooledConnectionService]:
    pool = await svcs_container.aget(ConnectionPoolService)
    async with pool.borrow() as connection:
        yield PooledConnectionService(connection=connection)


def register(
    registry: svcs.Registry, connect: Callable[[], Awaitable[Connection]], size: int = 5
) -> None:
    pool = ConnectionPoolService(connect=connect, size=size)
    registry.register_value(ConnectionPoolService, pool, on_registry_close=pool.close)
    registry.register_factory(PooledConnectionService, lend_connection)
