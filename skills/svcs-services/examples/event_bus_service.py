"""Let parts of the application hear about events without knowing one another."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

import svcs

Event = TypeVar("Event")


class EventBusService:
    """Calls everybody who subscribed to the type of an event, in order."""

    def __init__(self) -> None:
        self._listeners: defaultdict[type, list[Callable[[Any], None]]] = defaultdict(
            list
        )

    def subscribe(self, kind: type[Event], listener: Callable[[Event], None]) -> None:
        self._listeners[kind].append(listener)

    def publish(self, event: object) -> None:
        for listener in self._listeners[type(event)]:
            listener(event)


def register(registry: svcs.Registry) -> None:
    """One bus for the application: those who listen live longer than a request."""
    registry.register_value(EventBusService, EventBusService())
