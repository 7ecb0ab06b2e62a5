import pytest
from asgi_client import Client, echo

from body_limit import BodyLimitMiddleware, BodyTooLarge
from interfaces.asgi import Receive, Scope, Send


def test_small_bodies_pass() -> None:
    client = Client(BodyLimitMiddleware(echo, limit=10))
    response = client.request("POST", chunks=[b"hello", b"world"])
    assert (response.status, response.body) == (200, b"helloworld")


@pytest.mark.parametrize("claimed", [b"11", b"-1", b"lots"])
def test_a_claim_is_refused_without_reading(claimed: bytes) -> None:
    client = Client(BodyLimitMiddleware(echo, limit=10))
    response = client.request("POST", headers={b"content-length": claimed})
    assert response.status == 413


def test_a_body_that_grows_is_stopped() -> None:
    client = Client(BodyLimitMiddleware(echo, limit=10))
    response = client.request("POST", chunks=[b"hello", b"world", b"!"])
    assert (response.status, response.body) == (413, b"")


def test_an_answer_that_has_begun_cannot_be_taken_back() -> None:
    async def early(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()

    client = Client(BodyLimitMiddleware(early, limit=1))
    with pytest.raises(BodyTooLarge):
        client.request("POST", chunks=[b"hello"])
    assert [message.get("status") for message in client.sent] == [200]
