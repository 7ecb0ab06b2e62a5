from base64 import b64encode

import pytest
from asgi_client import Client, hello

from basic_auth import BasicAuthMiddleware
from interfaces.asgi import Receive, Scope, Send


def is_known(name: str, password: str) -> bool:
    return (name, password) == ("ada", "tea:time")


def test_the_right_password_lets_in() -> None:
    users: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        users.append(scope["state"]["user"])
        await hello(scope, receive, send)

    client = Client(BasicAuthMiddleware(app, is_known=is_known, realm="Tea"))
    header = b"Basic " + b64encode(b"ada:tea:time")
    assert client.request(headers={b"authorization": header}).body == b"Hello!"
    assert users == ["ada"]


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"Basic",
        b"Basic !!!",
        b"Bearer " + b64encode(b"ada:tea:time"),
        b"Basic " + b64encode(b"ada:wrong"),
        b"Basic " + b64encode(b"no colon"),
        b"Basic " + b64encode(b"\xff:\xff"),
    ],
)
def test_everything_else_is_asked_for_it(header: bytes) -> None:
    client = Client(BasicAuthMiddleware(hello, is_known=is_known, realm="Tea"))
    response = client.request(headers={b"authorization": header})
    assert (response.status, response.body) == (401, b"")
    challenge = response.headers[b"www-authenticate"]
    assert challenge == b'Basic realm="Tea", charset="UTF-8"'
