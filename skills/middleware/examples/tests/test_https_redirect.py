from asgi_client import Client, hello

from https_redirect import HttpsRedirectMiddleware


def test_plain_visitors_are_sent_to_the_same_page() -> None:
    client = Client(HttpsRedirectMiddleware(hello, host="shop.example"))
    response = client.request(path="/teas", scheme="http", query="page=2")
    assert (response.status, response.body) == (308, b"")
    assert response.headers[b"location"] == b"https://shop.example/teas?page=2"


def test_nobody_is_sent_where_the_request_says() -> None:
    client = Client(HttpsRedirectMiddleware(hello, host="shop.example"))
    response = client.request(scheme="http", headers={b"host": b"evil.example"})
    assert response.headers[b"location"] == b"https://shop.example/"


def test_safe_visitors_see_the_page() -> None:
    client = Client(HttpsRedirectMiddleware(hello, host="shop.example"))
    assert client.request().body == b"Hello!"
