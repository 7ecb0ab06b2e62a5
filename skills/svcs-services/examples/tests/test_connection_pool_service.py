import asyncio

import svcs

from connection_pool_service import PooledConnectionService, register


class CountedConnection:
    """A connection that remembers being closed."""

    opened = 0

    def __init__(self) -> None:
        self.is_closed = False

    async def close(self) -> None:
        self.is_closed = True


def test_requests_share_connections_and_the_end_closes_them() -> None:
    opened: list[CountedConnection] = []

    async def connect() -> CountedConnection:
        opened.append(CountedConnection())
        return opened[-1]

    async def request(registry: svcs.Registry) -> None:
        async with svcs.Container(registry) as container:
            borrowed = await container.aget(PooledConnectionService)
            assert borrowed.connection in opened
            # Lets the other requests come as far as they can.
            await asyncio.sleep(0)

    async def serve() -> None:
        async with svcs.Registry() as registry:
            register(registry, connect, size=2)
            await asyncio.gather(*(request(registry) for _ in range(10)))
            assert len(opened) == 2
            assert not any(connection.is_closed for connection in opened)

    asyncio.run(serve())
    assert all(connection.is_closed for connection in opened)
