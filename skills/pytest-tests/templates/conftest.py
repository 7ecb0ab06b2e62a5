"""Fixtures for all tests, and the examples in Markdown documents as tests."""

from collections.abc import Iterator

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

from app.example import Example

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["*.md"],
).pytest()


@pytest.fixture
def example() -> Iterator[Example]:
    example = Example(title="Tea")
    yield example
    example.close()
