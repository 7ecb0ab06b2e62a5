"""Remember results of expensive calls for some minutes."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar, cast

import svcs

from clock_service import ClockService

Value = TypeVar("Value")


class CacheService:
    """Values by key, each forgotten when it is older than `lifetime`."""

    def __init__(self, *, clock: ClockService, lifetime: timedelta) -> None:
        self._clock = clock
        self._lifetime = lifetime
        self._entries: dict[str, tuple[datetime, object]] = {}

    def get_or_make(self, key: str, make: Callable[[], Value]) -> Value:
        now = self._clock.now()
        made, value = self._entries.get(key, (None, None))
        if made is None or now - made >= self._lifetime:
            value = make()
            self._entries[key] = (now, value)
        return cast(Value, value)

    def forget(self, key: str) -> None:
        self._entries.pop(key, None)


def create_cache(svcs_container: svcs.Container) -> CacheService:
    clock = svcs_container.get(ClockService)
    return CacheService(clock=clock, lifetime=timedelta(minutes=5))


def register(registry: svcs.Registry) -> None:
    registry.register_factory(CacheService, create_cache)
