"""An example component middleware with a title and items."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ExampleMiddleware:
    """Fills in the props that a component was not given."""

    title: str
    items: tuple[str, ...]
    priority: int = 0

    def __call__(
        self, target: Callable[..., Any], props: dict[str, Any], context: object
    ) -> dict[str, Any]:
        defaults: dict[str, Any] = {
            "title": self.title,
            "items": self.items,
        }
        return {**defaults, **props}
