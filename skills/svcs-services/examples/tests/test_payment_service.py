from decimal import Decimal

import pytest
import svcs

from payment_service import PaymentRefused, PaymentService, register


def make_payment() -> PaymentService:
    registry = svcs.Registry()
    register(registry, {"ada": Decimal("10.00")})
    return svcs.Container(registry).get(PaymentService)


def test_payments_are_numbered() -> None:
    payment = make_payment()
    assert payment.charge("ada", Decimal("4.00")) == "R0001"
    assert payment.charge("ada", Decimal("6.00")) == "R0002"


@pytest.mark.parametrize("customer", ["ada", "nobody"])
def test_nobody_pays_more_than_they_have(customer: str) -> None:
    with pytest.raises(PaymentRefused, match="has only"):
        make_payment().charge(customer, Decimal("10.01"))
