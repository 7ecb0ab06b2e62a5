"""Compress responses with gzip for browsers that understand it."""

import gzip

from interfaces.asgi import Application, Message, Receive, Scope, Send


class CompressionMiddleware:
    """Compresses whole responses of at least `least` bytes; streams go through as they are."""

    def __init__(self, app: Application, *, least: int = 500) -> None:
        self.app = app
        self.least = least

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        if b"gzip" not in headers.get(b"accept-encoding", b""):
            await self.app(scope, receive, send)
            return
        await self.app(scope, receive, Compressor(send, self.least))


class Compressor:
    """Holds the start of a response back until its body shows whether to compress."""

    def __init__(self, send: Send, least: int) -> None:
        self.send = send
        self.least = least
        self.start: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.start = message
            return
        if self.start is not None:
            start, self.start = self.start, None
            if self.is_worth_it(start, message):
                body = gzip.compress(message.get("body", b""), mtime=0)
                start = {**start, "headers": compressed_headers(start, len(body))}
                message = {**message, "body": body}
            await self.send(start)
        await self.send(message)

    def is_worth_it(self, start: Message, message: Message) -> bool:
        names = {name.lower() for name, _ in start.get("headers", [])}
        is_whole = not message.get("more_body", False)
        is_large = len(message.get("body", b"")) >= self.least
        return is_whole and is_large and b"content-encoding" not in names


def compressed_headers(start: Message, length: int) -> list[tuple[bytes, bytes]]:
    kept = [
        (name, value)
        for name, value in start.get("headers", [])
        if name.lower() != b"content-length"
    ]
    return [
        *kept,
        (b"content-encoding", b"gzip"),
        (b"content-length", str(length).encode()),
        (b"vary", b"Accept-Encoding"),
    ]
