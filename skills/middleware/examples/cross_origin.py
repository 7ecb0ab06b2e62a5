"""Let pages of certain other origins call the API, and answer their preflight requests."""

from collections.abc import Collection

from interfaces.asgi import Application, Message, Receive, Scope, Send


class CrossOriginMiddleware:
    """Answers preflights itself; other requests go on and get the header."""

    def __init__(
        self,
        app: Application,
        *,
        origins: Collection[str],
        methods: Collection[str] = ("GET", "POST"),
    ) -> None:
        self.app = app
        self.origins = {origin.encode() for origin in origins}
        self.methods = ", ".join(methods).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        origin = headers.get(b"origin")
        if origin not in self.origins:
            await self.app(scope, receive, send)
            return
        allowed = [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]
        is_preflight = b"access-control-request-method" in headers
        if scope["method"] == "OPTIONS" and is_preflight:
            await self.answer_preflight(allowed, send)
            return

        async def send_allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {
                    **message,
                    "headers": [*message.get("headers", []), *allowed],
                }
            await send(message)

        await self.app(scope, receive, send_allowed)

    async def answer_preflight(
        self, allowed: list[tuple[bytes, bytes]], send: Send
    ) -> None:
        headers = [*allowed, (b"access-control-allow-methods", self.methods)]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
