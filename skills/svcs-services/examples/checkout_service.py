"""Check out a cart: place the order, then send the customer a confirmation."""

from dataclasses import dataclass
from decimal import Decimal

import svcs

from mail_service import MailService
from order_service import OrderService


@dataclass(frozen=True, kw_only=True)
class CheckoutService:
    """Joins a synchronous and an asynchronous service."""

    orders: OrderService
    mail: MailService

    async def check_out(self, customer: str, prices: list[Decimal]) -> str:
        """The number of the receipt."""
        order = self.orders.place(customer, sum(prices, Decimal(0)))
        await self.mail.send(
            receiver=customer,
            subject=f"Your order {order.receipt}",
            text=f"Thank you! We received {order.amount} €.",
        )
        return order.receipt


def register(registry: svcs.Registry) -> None:
    registry.register_factory(CheckoutService, svcs.aautowire(CheckoutService))
