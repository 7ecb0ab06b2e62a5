"""Answer with a plain error page when a view fails, and let the server log the error."""

from interfaces.asgi import Application, Message, Receive, Scope, Send


class ServerErrorMiddleware:
    """Sends the page if nothing was sent yet; the exception always goes on."""

    def __init__(
        self, app: Application, *, page: bytes = b"Something went wrong."
    ) -> None:
        self.app = app
        self.page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_started = False

        async def watch(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except Exception:
            if not has_started:
                await self.send_page(send)
            raise

    async def send_page(self, send: Send) -> None:
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 500, "headers": headers})
        await send({"type": "http.response.body", "body": self.page})
