"""What the middleware does for every component, in one sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import svcs


@dataclass(frozen=True, kw_only=True)
class ExampleMiddleware:
    priority: int = 0

    def __call__(
        self, target: Callable[..., Any], props: dict[str, Any], context: svcs.Container
    ) -> dict[str, Any] | None:
        return props
