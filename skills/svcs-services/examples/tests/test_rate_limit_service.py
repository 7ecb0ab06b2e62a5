from datetime import UTC, datetime, timedelta

import svcs

from clock_service import ClockService
from rate_limit_service import RateLimitService, register


class HandClock(ClockService):
    """A clock that tests wind by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 5, 4, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


def test_clients_are_counted_apart_across_requests() -> None:
    registry = svcs.Registry()
    register(registry, HandClock(), limit=2)

    def ask(client: str) -> bool:
        with svcs.Container(registry) as request:
            return request.get(RateLimitService).allows(client)

    assert [ask("ada"), ask("ada"), ask("ada"), ask("ben")] == [True, True, False, True]


def test_a_minute_later_there_is_room_again() -> None:
    clock = HandClock()
    limit = RateLimitService(clock=clock, limit=1)
    assert (limit.allows("ada"), limit.allows("ada")) == (True, False)
    clock.moment += timedelta(minutes=1)
    assert limit.allows("ada") is True
