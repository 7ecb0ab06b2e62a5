"""Take payments through an interface, so that the provider can be changed in one place."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

import svcs


class PaymentService(Protocol):
    """What the rest of the application knows about paying."""

    def charge(self, customer: str, amount: Decimal) -> str:
        """Take the money and return the number of the receipt."""
        ...


class PaymentRefused(Exception):  # noqa: N818
    """The provider said no."""


@dataclass(kw_only=True)
class PrepaidPaymentService:
    """Takes payments from balances that customers paid in before."""

    balances: dict[str, Decimal] = field(default_factory=dict)
    receipts: int = 0

    def charge(self, customer: str, amount: Decimal) -> str:
        balance = self.balances.get(customer, Decimal(0))
        if amount > balance:
            raise PaymentRefused(f"{customer} has only {balance}")
        self.balances[customer] = balance - amount
        self.receipts += 1
        return f"R{self.receipts:04}"


def register(registry: svcs.Registry, balances: dict[str, Decimal]) -> None:
    """Registered under the interface: nobody asks for the provider by its own name."""
    registry.register_value(PaymentService, PrepaidPaymentService(balances=balances))
