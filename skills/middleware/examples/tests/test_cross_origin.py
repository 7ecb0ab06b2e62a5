from asgi_client import Client, hello

from cross_origin import CrossOriginMiddleware

FRIEND = b"https://friend.example"


def make_client() -> Client:
    return Client(CrossOriginMiddleware(hello, origins=["https://friend.example"]))


def test_friends_may_read_the_response() -> None:
    response = make_client().request(headers={b"origin": FRIEND})
    assert response.body == b"Hello!"
    assert response.headers[b"access-control-allow-origin"] == FRIEND
    assert response.headers[b"vary"] == b"Origin"


def test_preflights_of_friends_are_answered() -> None:
    headers = {b"origin": FRIEND, b"access-control-request-method": b"POST"}
    response = make_client().request("OPTIONS", headers=headers)
    assert (response.status, response.body) == (204, b"")
    assert response.headers[b"access-control-allow-methods"] == b"GET, POST"


def test_strangers_get_no_header() -> None:
    headers = {b"origin": b"https://friend.example.evil.example"}
    response = make_client().request(headers=headers)
    assert response.headers == {b"content-type": b"text/plain"}
