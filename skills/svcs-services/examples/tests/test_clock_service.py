from datetime import UTC, datetime, timedelta

import svcs

from clock_service import ClockService, StoppedClockService, register


def test_the_clock_of_the_machine_does_not_go_backwards() -> None:
    registry = svcs.Registry()
    register(registry)
    clock = svcs.Container(registry).get(ClockService)
    first = clock.now()
    assert timedelta(0) <= clock.now() - first
    assert first.tzinfo is UTC


def test_a_stopped_clock_stands_in_for_it() -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    registry = svcs.Registry()
    register(registry)
    registry.register_value(ClockService, StoppedClockService(moment=noon))
    assert svcs.Container(registry).get(ClockService).now() == noon
