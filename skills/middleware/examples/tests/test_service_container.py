from collections.abc import AsyncIterator

import pytest
import svcs
from asgi_client import Client, hello

from interfaces.asgi import Receive, Scope, Send
from service_container import ServiceContainerMiddleware


class Kettle:
    """A service that can be switched off."""

    is_on = True


def make_registry(made: list[Kettle]) -> svcs.Registry:
    async def boil() -> AsyncIterator[Kettle]:
        made.append(Kettle())
        yield made[-1]
        made[-1].is_on = False

    registry = svcs.Registry()
    registry.register_factory(Kettle, boil)
    return registry


def test_each_request_has_a_container_that_is_closed_after_it() -> None:
    made: list[Kettle] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        container = scope["state"]["services"]
        kettle = await container.aget(Kettle)
        assert kettle is await container.aget(Kettle)
        assert kettle.is_on
        await hello(scope, receive, send)

    client = Client(ServiceContainerMiddleware(app, registry=make_registry(made)))
    assert [client.request().status, client.request().status] == [200, 200]
    assert [kettle.is_on for kettle in made] == [False, False]


def test_the_container_is_closed_when_the_application_fails() -> None:
    made: list[Kettle] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await scope["state"]["services"].aget(Kettle)
        raise RuntimeError("no tea")

    client = Client(ServiceContainerMiddleware(app, registry=make_registry(made)))
    with pytest.raises(RuntimeError, match="no tea"):
        client.request()
    assert [kettle.is_on for kettle in made] == [False]
