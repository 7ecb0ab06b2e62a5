"""A very small shop."""

from shop.cart import Cart, total
from shop.mail import validate_email

__all__ = ["Cart", "total", "validate_email"]
