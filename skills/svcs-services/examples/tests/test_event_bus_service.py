import svcs

from event_bus_service import EventBusService, register


def test_listeners_hear_their_kind_of_event_in_order() -> None:
    registry = svcs.Registry()
    register(registry)
    bus = svcs.Container(registry).get(EventBusService)
    heard: list[str] = []
    bus.subscribe(int, lambda event: heard.append(f"first {event}"))
    bus.subscribe(int, lambda event: heard.append(f"second {event}"))
    bus.subscribe(str, heard.append)
    bus.publish(1)
    bus.publish("word")
    bus.publish(2.0)
    assert heard == ["first 1", "second 1", "word"]


def test_requests_share_the_bus() -> None:
    registry = svcs.Registry()
    register(registry)
    buses = [svcs.Container(registry).get(EventBusService) for _ in range(2)]
    assert buses[0] is buses[1]
