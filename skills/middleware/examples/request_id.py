"""Give every request an id that is in the scope, in the response and in the logs."""

import re
from collections.abc import Callable
from uuid import uuid4

from interfaces.asgi import Application, Message, Receive, Scope, Send

HEADER = b"x-request-id"
ACCEPTABLE = re.compile(rb"[A-Za-z0-9-]{8,64}")


class RequestIdMiddleware:
    """Keeps an id that a proxy in front gave already, if it looks like one."""

    def __init__(
        self, app: Application, *, make_id: Callable[[], str] = lambda: uuid4().hex
    ) -> None:
        self.app = app
        self.make_id = make_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(HEADER, b"")
        is_fine = ACCEPTABLE.fullmatch(given)
        request_id = given if is_fine else self.make_id().encode()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", []), (HEADER, request_id)]
                message = {**message, "headers": headers}
            await send(message)

        state = {**scope.get("state", {}), "request_id": request_id.decode()}
        await self.app({**scope, "state": state}, receive, send_with_id)
