"""What part of the program these tests are about."""

import pytest

from app.example import Example


@pytest.fixture
def example() -> Example:
    return Example(title="Tea")


def test_a_title_is_kept(example: Example) -> None:
    assert example.title == "Tea"


@pytest.mark.parametrize("title", ["", " ", "\n"])
def test_a_blank_title_is_refused(title: str) -> None:
    with pytest.raises(ValueError, match="title"):
        Example(title=title)
