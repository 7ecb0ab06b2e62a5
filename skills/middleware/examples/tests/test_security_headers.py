from asgi_client import Client, hello

from interfaces.asgi import Receive, Scope, Send
from security_headers import DEFAULTS, SecurityHeadersMiddleware


def test_all_headers_are_added() -> None:
    response = Client(SecurityHeadersMiddleware(hello)).request()
    assert response.headers == {b"content-type": b"text/plain", **DEFAULTS}


def test_a_view_may_set_its_own() -> None:
    async def framed(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"X-Frame-Options", b"SAMEORIGIN")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    response = Client(SecurityHeadersMiddleware(framed)).request()
    assert response.headers[b"X-Frame-Options"] == b"SAMEORIGIN"
    assert b"x-frame-options" not in response.headers
