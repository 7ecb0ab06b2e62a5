"""Calls an ASGI application the way a server does, and collects what it sends."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from interfaces.asgi import Application, Message, Receive, Scope, Send


@dataclass(frozen=True)
class Response:
    """What came back."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


@dataclass
class Client:
    """One application; what it sent is kept even if it fails."""

    app: Application
    sent: list[Message] = field(default_factory=list)

    def request(
        self,
        method: str = "GET",
        path: str = "/",
        *,
        scheme: str = "https",
        query: str = "",
        headers: Mapping[bytes, bytes] | None = None,
        chunks: Iterable[bytes] = (b"",),
    ) -> Response:
        scope = {
            "type": "http",
            "method": method,
            "scheme": scheme,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": list((headers or {}).items()),
        }
        self.call(scope, chunks)
        start, *bodies = self.sent
        assert start["type"] == "http.response.start"
        assert not bodies[-1].get("more_body", False)
        body = b"".join(message.get("body", b"") for message in bodies)
        return Response(start["status"], dict(start["headers"]), body)

    def call(self, scope: Scope, chunks: Iterable[bytes] = ()) -> None:
        self.sent = []
        *earlier, last = list(chunks) or [b""]
        messages = [
            {"type": "http.request", "body": each, "more_body": True}
            for each in earlier
        ]
        messages.append({"type": "http.request", "body": last, "more_body": False})

        async def receive() -> Message:
            return messages.pop(0)

        async def send(message: Message) -> None:
            self.sent.append(message)

        async def run() -> None:
            await self.app(scope, receive, send)

        asyncio.run(run())


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that says hello, or nothing at all outside HTTP."""
    if scope["type"] != "http":
        return
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"Hello!"})


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that sends back what it was sent."""
    body, has_more = b"", True
    while has_more:
        message = await receive()
        body += message["body"]
        has_more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
