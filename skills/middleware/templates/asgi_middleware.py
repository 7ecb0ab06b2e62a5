"""An example middleware with a title and items."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class ExampleMiddleware:
    """Adds a header to every response for each of its settings that has a value."""

    def __init__(self, app: Application, *, title: str, items: tuple[str, ...]) -> None:
        self.app = app
        self.title = title
        self.items = items

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", []), *self._headers()]
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        settings = {
            "x-title": self.title,
            "x-items": self.items,
        }
        return [
            (name.encode(), str(value).encode())
            for name, value in settings.items()
            if value is not None
        ]
