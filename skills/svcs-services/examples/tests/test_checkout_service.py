import asyncio
from decimal import Decimal
from email.message import EmailMessage

import pytest
import svcs

import checkout_service
import event_bus_service
import mail_service
import order_service
import payment_service
from checkout_service import CheckoutService
from mail_service import MailTransport
from payment_service import PaymentRefused


class Outbox:
    """A transport that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []

    async def deliver(self, message: EmailMessage) -> None:
        self.messages.append(message)


async def check_out(outbox: Outbox, prices: list[Decimal]) -> str:
    registry = svcs.Registry()
    registry.register_value(MailTransport, outbox)
    payment_service.register(registry, {"ada@example.com": Decimal(10)})
    for module in (event_bus_service, mail_service, order_service, checkout_service):
        module.register(registry)
    async with svcs.Container(registry) as container:
        checkout = await container.aget(CheckoutService)
        return await checkout.check_out("ada@example.com", prices)


def test_the_customer_gets_a_receipt() -> None:
    outbox = Outbox()
    prices = [Decimal("2.50"), Decimal("3.50")]
    assert asyncio.run(check_out(outbox, prices)) == "R0001"
    [message] = outbox.messages
    assert message["Subject"] == "Your order R0001"
    assert message.get_content() == "Thank you! We received 6.00 €.\n"


def test_nothing_is_confirmed_that_was_not_paid() -> None:
    outbox = Outbox()
    with pytest.raises(PaymentRefused):
        asyncio.run(check_out(outbox, [Decimal(11)]))
    assert outbox.messages == []
