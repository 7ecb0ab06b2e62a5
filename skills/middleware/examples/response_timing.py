"""Tell the browser how long the server took for each response."""

from collections.abc import Callable
from time import perf_counter

from interfaces.asgi import Application, Message, Receive, Scope, Send


class ResponseTimingMiddleware:
    """Adds `Server-Timing`: the time until the response began."""

    def __init__(
        self, app: Application, *, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.app = app
        self.clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = self.clock()

        async def send_with_timing(message: Message) -> None:
            if message["type"] == "http.response.start":
                milliseconds = (self.clock() - started) * 1000
                timing = (b"server-timing", f"app;dur={milliseconds:.1f}".encode())
                headers = [*message.get("headers", []), timing]
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, send_with_timing)
