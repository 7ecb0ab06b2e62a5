"""The shop's own tests."""

import os.path

import shop
from shop.cart import Cart, total as sum_up
from shop.mail import validate_email


def test_total():
    assert sum_up(Cart("ann", [200, 300])) == 500
    assert shop.total(Cart("ann", [200]), discount=50) == 150


def test_email():
    assert validate_email("ann@example.org")
    assert not validate_email("ann", strict=True)
    assert os.path.join("a", "b") == "a/b"
