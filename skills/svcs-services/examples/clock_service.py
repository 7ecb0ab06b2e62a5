"""Tell the time in a way that tests can stop."""

from dataclasses import dataclass
from datetime import UTC, datetime

import svcs


class ClockService:
    """The time of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class StoppedClockService(ClockService):
    """A clock that always shows the same time."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment


def register(registry: svcs.Registry) -> None:
    registry.register_value(ClockService, ClockService())
