"""What a customer is about to buy."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Optional


@dataclass
class Cart:
    owner: str
    prices: list[int] = field(default_factory=list)
    voucher: Optional[str] = None


def total(cart: Cart, *, discount: int = 0) -> int:
    """The sum of `cart`, in cents."""
    total = sum(cart.prices)  # a local of the same name: not the function
    return total - discount


def receipt(cart: Cart, folder: str) -> str:
    path = os.path.join(folder, f"{cart.owner}.txt")
    with open(path, "w") as file:
        print("total:", total(cart), file=file)
    return path
