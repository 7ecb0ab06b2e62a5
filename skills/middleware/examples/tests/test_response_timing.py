from asgi_client import Client, hello

from response_timing import ResponseTimingMiddleware


def test_the_time_until_the_response_is_told() -> None:
    times = iter([10.0, 10.25])
    app = ResponseTimingMiddleware(hello, clock=lambda: next(times))
    response = Client(app).request()
    assert response.headers[b"server-timing"] == b"app;dur=250.0"
    assert response.headers[b"content-type"] == b"text/plain"


def test_other_protocols_go_through() -> None:
    client = Client(ResponseTimingMiddleware(hello))
    client.call({"type": "lifespan"})
    assert client.sent == []
