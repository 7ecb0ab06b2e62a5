import gzip

from asgi_client import Client, hello

from compression import CompressionMiddleware
from interfaces.asgi import Receive, Scope, Send

GZIP = {b"accept-encoding": b"gzip, br"}
TEXT = b"tea " * 500


async def long(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-length", str(len(TEXT)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": TEXT})


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": TEXT, "more_body": True})
    await send({"type": "http.response.body", "body": TEXT})


def test_long_responses_shrink() -> None:
    response = Client(CompressionMiddleware(long)).request(headers=GZIP)
    assert gzip.decompress(response.body) == TEXT
    assert len(response.body) < len(TEXT) / 10
    assert response.headers == {
        b"content-encoding": b"gzip",
        b"content-length": str(len(response.body)).encode(),
        b"vary": b"Accept-Encoding",
    }


def test_short_responses_and_streams_stay_as_they_are() -> None:
    assert Client(CompressionMiddleware(hello)).request(headers=GZIP).body == b"Hello!"
    assert Client(CompressionMiddleware(stream)).request(headers=GZIP).body == TEXT * 2


def test_nobody_gets_what_they_did_not_ask_for() -> None:
    response = Client(CompressionMiddleware(long)).request()
    assert response.body == TEXT
    assert b"content-encoding" not in response.headers
