"""Addresses and messages."""

import re
import sys
from typing import Optional as Opt

from . import cart as carts

PATTERN = re.compile(r"[^@\s]+@[^@\s]+")


def validate_email(address: str, strict: bool = False) -> bool:
    return bool(PATTERN.fullmatch(address)) and not (strict and "+" in address)


def confirm(cart: carts.Cart, address: Opt[str]) -> None:
    if address is None or not validate_email(address, strict=True):
        raise ValueError("cannot write to {}".format(address))
    print("to %s: you pay %d" % (address, carts.total(cart, discount=5)))
