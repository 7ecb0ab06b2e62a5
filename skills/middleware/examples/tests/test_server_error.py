import pytest
from asgi_client import Client, hello

from interfaces.asgi import Receive, Scope, Send
from server_error import ServerErrorMiddleware


def test_a_failing_view_is_answered_for_and_still_fails() -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("secret detail")

    client = Client(ServerErrorMiddleware(failing))
    with pytest.raises(RuntimeError, match="secret detail"):
        client.request()
    start, body = client.sent
    assert start["status"] == 500
    assert body["body"] == b"Something went wrong."


def test_a_response_that_has_begun_is_not_begun_again() -> None:
    async def failing_late(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("too late")

    client = Client(ServerErrorMiddleware(failing_late))
    with pytest.raises(RuntimeError, match="too late"):
        client.request()
    assert [message["type"] for message in client.sent] == ["http.response.start"]


def test_what_works_is_left_alone() -> None:
    assert Client(ServerErrorMiddleware(hello)).request().status == 200
