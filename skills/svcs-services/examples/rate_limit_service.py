"""Allow each client only so many requests per minute."""

from collections import defaultdict, deque
from datetime import datetime, timedelta

import svcs

from clock_service import ClockService

WINDOW = timedelta(minutes=1)


class RateLimitService:
    """Counts the requests of the last minute, for each client apart."""

    def __init__(self, *, clock: ClockService, limit: int) -> None:
        self._clock = clock
        self._limit = limit
        self._requests: defaultdict[str, deque[datetime]] = defaultdict(deque)

    def allows(self, client: str) -> bool:
        """Count a request; whether it is still within the limit."""
        now = self._clock.now()
        recent = self._requests[client]
        while recent and now - recent[0] >= WINDOW:
            recent.popleft()
        if len(recent) >= self._limit:
            return False
        recent.append(now)
        return True


def register(registry: svcs.Registry, clock: ClockService, limit: int = 60) -> None:
    """One instance for the whole application: the counts must outlive a request."""
    service = RateLimitService(clock=clock, limit=limit)
    registry.register_value(RateLimitService, service)
