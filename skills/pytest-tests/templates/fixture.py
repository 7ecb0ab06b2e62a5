"""An example fixture with a title and items."""

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, kw_only=True)
class Example:
    """A sample for tests."""

    title: str
    items: tuple[str, ...]


@pytest.fixture
def example() -> Example:
    return Example(title="Title", items=("Item",))
