"""Refuse uploads that are larger than a limit, whatever length they claim to have."""

from interfaces.asgi import Application, Message, Receive, Scope, Send


class BodyTooLarge(Exception):  # noqa: N818
    """Tells the application that no more of the body will come."""


class BodyLimitMiddleware:
    """Counts what arrives; more than `limit` bytes end in 413."""

    def __init__(self, app: Application, *, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        claimed = dict(scope["headers"]).get(b"content-length", b"0")
        if not claimed.isdigit() or int(claimed) > self.limit:
            await self.refuse(send)
            return
        received = 0
        has_started = False

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.limit:
                raise BodyTooLarge
            return message

        async def watch(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self.app(scope, receive_counted, watch)
        except BodyTooLarge:
            if has_started:
                raise
            await self.refuse(send)

    async def refuse(self, send: Send) -> None:
        headers = [(b"content-length", b"0"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
