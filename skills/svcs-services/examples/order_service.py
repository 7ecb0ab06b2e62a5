"""Place orders that are paid for, recorded and announced to whoever listens."""

from dataclasses import dataclass
from decimal import Decimal

import svcs

from event_bus_service import EventBusService
from payment_service import PaymentService


@dataclass(frozen=True)
class OrderPlaced:
    """Somebody bought something and paid for it."""

    customer: str
    amount: Decimal
    receipt: str


@dataclass(frozen=True, kw_only=True)
class OrderService:
    """Needs two other services; `autowire` finds them by their annotations."""

    payment: PaymentService
    events: EventBusService

    def place(self, customer: str, amount: Decimal) -> OrderPlaced:
        receipt = self.payment.charge(customer, amount)
        order = OrderPlaced(customer, amount, receipt)
        self.events.publish(order)
        return order


def register(registry: svcs.Registry) -> None:
    registry.register_factory(OrderService, svcs.autowire(OrderService))
