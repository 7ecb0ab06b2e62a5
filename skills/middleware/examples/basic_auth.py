"""Ask for a user name and a password before anybody sees the site."""

import binascii
from base64 import b64decode
from collections.abc import Callable

from interfaces.asgi import Application, Receive, Scope, Send


class BasicAuthMiddleware:
    """Lets in whom `is_known` knows; everybody else gets 401 and is asked."""

    def __init__(
        self, app: Application, *, is_known: Callable[[str, str], bool], realm: str
    ) -> None:
        self.app = app
        self.is_known = is_known
        self.realm = realm

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        credentials = read_credentials(
            dict(scope["headers"]).get(b"authorization", b"")
        )
        if credentials is None or not self.is_known(*credentials):
            await self.ask(send)
            return
        state = {**scope.get("state", {}), "user": credentials[0]}
        await self.app({**scope, "state": state}, receive, send)

    async def ask(self, send: Send) -> None:
        challenge = f'Basic realm="{self.realm}", charset="UTF-8"'.encode()
        headers = [(b"www-authenticate", challenge), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def read_credentials(header: bytes) -> tuple[str, str] | None:
    """Name and password of an `Authorization` header, if it has the right form."""
    scheme, _, encoded = header.partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        name, colon, password = (
            b64decode(encoded, validate=True).decode().partition(":")
        )
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (name, password) if colon else None
