"""Give every request a service container of its own and close it afterwards."""

import svcs

from interfaces.asgi import Application, Receive, Scope, Send


class ServiceContainerMiddleware:
    """Puts a container into the scope's state; the registry lives as long as the app."""

    def __init__(self, app: Application, *, registry: svcs.Registry) -> None:
        self.app = app
        self.registry = registry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        async with svcs.Container(self.registry) as container:
            state = {**scope.get("state", {}), "services": container}
            await self.app({**scope, "state": state}, receive, send)
