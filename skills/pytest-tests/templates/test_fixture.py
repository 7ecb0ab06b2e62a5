"""An example test fixture with a title and items."""

import pytest


@pytest.fixture
def example() -> dict[str, object]:
    return {
        "title": "Title",
        "items": ("Item",),
    }


def test_example_has_its_fields(example: dict[str, object]) -> None:
    assert list(example) == [
        "title",
        "items",
    ]
