"""Add the usual security headers to every response unless a view set its own."""

from interfaces.asgi import Application, Message, Receive, Scope, Send

DEFAULTS = {
    b"content-security-policy": b"default-src 'self'",
    b"referrer-policy": b"same-origin",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}


class SecurityHeadersMiddleware:
    """Headers that are there already are left alone."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", []))
                present = {name.lower() for name, _ in headers}
                missing = DEFAULTS.keys() - present
                headers += [(name, DEFAULTS[name]) for name in sorted(missing)]
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, send_with_headers)
