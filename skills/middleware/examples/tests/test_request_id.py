import pytest
from asgi_client import Client, hello

from interfaces.asgi import Receive, Scope, Send
from request_id import RequestIdMiddleware


def test_a_request_gets_an_id_that_the_application_sees() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["state"]["request_id"])
        await hello(scope, receive, send)

    client = Client(RequestIdMiddleware(app, make_id=lambda: "made-here"))
    response = client.request()
    assert response.headers[b"x-request-id"] == b"made-here"
    assert response.body == b"Hello!"
    assert seen == ["made-here"]


def test_an_id_from_a_proxy_is_kept() -> None:
    response = Client(RequestIdMiddleware(hello)).request(
        headers={b"x-request-id": b"from-the-proxy"}
    )
    assert response.headers[b"x-request-id"] == b"from-the-proxy"


@pytest.mark.parametrize(
    "given", [b"short", b"x" * 65, b"two words", b"a\r\nset-cookie"]
)
def test_strange_ids_are_replaced(given: bytes) -> None:
    client = Client(RequestIdMiddleware(hello, make_id=lambda: "made-here"))
    response = client.request(headers={b"x-request-id": given})
    assert response.headers[b"x-request-id"] == b"made-here"
