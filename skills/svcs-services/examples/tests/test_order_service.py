from decimal import Decimal

import pytest
import svcs

import event_bus_service
import order_service
import payment_service
from event_bus_service import EventBusService
from order_service import OrderPlaced, OrderService
from payment_service import PaymentRefused


def make_container() -> svcs.Container:
    registry = svcs.Registry()
    event_bus_service.register(registry)
    payment_service.register(registry, {"ada": Decimal(10)})
    order_service.register(registry)
    return svcs.Container(registry)


def test_a_paid_order_is_announced() -> None:
    container = make_container()
    heard: list[OrderPlaced] = []
    container.get(EventBusService).subscribe(OrderPlaced, heard.append)
    order = container.get(OrderService).place("ada", Decimal(7))
    assert order == OrderPlaced("ada", Decimal(7), "R0001")
    assert heard == [order]


def test_an_order_that_is_not_paid_is_none() -> None:
    container = make_container()
    heard: list[OrderPlaced] = []
    container.get(EventBusService).subscribe(OrderPlaced, heard.append)
    with pytest.raises(PaymentRefused):
        container.get(OrderService).place("ada", Decimal(11))
    assert heard == []
