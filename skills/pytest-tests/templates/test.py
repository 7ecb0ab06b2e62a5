"""An example test with a title and items."""

from dataclasses import asdict, dataclass

import pytest


@dataclass(frozen=True, kw_only=True)
class Example:
    """Stands in for what is tested until there is one."""

    title: str
    items: tuple[str, ...]


@pytest.fixture
def example() -> Example:
    return Example(title="Title", items=("Item",))


def test_example_keeps_what_it_is_given(example: Example) -> None:
    assert asdict(example) == {
        "title": "Title",
        "items": ("Item",),
    }
