from datetime import UTC, datetime, timedelta

import svcs

from cache_service import CacheService, register
from clock_service import ClockService


class HandClock(ClockService):
    """A clock that tests wind by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 5, 4, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


def make_cache() -> tuple[CacheService, HandClock]:
    clock = HandClock()
    registry = svcs.Registry()
    registry.register_value(ClockService, clock)
    register(registry)
    return svcs.Container(registry).get(CacheService), clock


def test_a_value_is_made_once_until_it_is_too_old() -> None:
    cache, clock = make_cache()
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert [cache.get_or_make("key", make) for _ in range(3)] == [0, 0, 0]
    clock.moment += timedelta(minutes=5)
    assert cache.get_or_make("key", make) == 1


def test_a_forgotten_value_is_made_again() -> None:
    cache, _ = make_cache()
    assert cache.get_or_make("key", lambda: "old") == "old"
    cache.forget("key")
    assert cache.get_or_make("key", lambda: "new") == "new"
