"""Send visitors who come over plain HTTP to the same page over HTTPS."""

from interfaces.asgi import Application, Receive, Scope, Send


class HttpsRedirectMiddleware:
    """Redirects to a fixed host: the one in the request may be anybody's."""

    def __init__(self, app: Application, *, host: str) -> None:
        self.app = app
        self.host = host.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["scheme"] == "https":
            await self.app(scope, receive, send)
            return
        query = scope["query_string"]
        path = scope["raw_path"] + (b"?" + query if query else b"")
        headers = [(b"location", b"https://" + self.host + path)]
        await send({"type": "http.response.start", "status": 308, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
