"""An example service with a title and items."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Example:
    """What the service keeps."""

    title: str
    items: tuple[str, ...]


class ExampleService:
    """Hands out what it was given, in the order in which it came."""

    def __init__(self) -> None:
        self._records: list[Example] = []

    def add(self, *, title: str, items: tuple[str, ...]) -> Example:
        record = Example(title=title, items=items)
        self._records.append(record)
        return record

    def all(self) -> tuple[Example, ...]:
        return tuple(self._records)
