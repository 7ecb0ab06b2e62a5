"""An example test class with a title and items."""

from dataclasses import asdict, dataclass, replace

import pytest


@dataclass(frozen=True, kw_only=True)
class Example:
    """Stands in for what is tested until there is one."""

    title: str
    items: tuple[str, ...]


class TestExample:
    @pytest.fixture
    def example(self) -> Example:
        return Example(title="Title", items=("Item",))

    def test_it_keeps_what_it_is_given(self, example: Example) -> None:
        assert asdict(example) == {
            "title": "Title",
            "items": ("Item",),
        }

    def test_its_title_can_be_changed(self, example: Example) -> None:
        changed = replace(example, title="Other title")

        assert changed.title == "Other title"

    def test_its_items_can_be_changed(self, example: Example) -> None:
        changed = replace(example, items=("Other item",))

        assert changed.items == ("Other item",)
