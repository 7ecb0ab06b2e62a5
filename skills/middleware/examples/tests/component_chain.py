"""Calls a component through its middleware, as tdom-svcs does."""

from collections.abc import Iterable
from typing import Any, Protocol

from interfaces.components import Context, Props, Target


class Middleware(Protocol):
    """What all of them have in common."""

    @property
    def priority(self) -> int: ...

    def __call__(
        self, target: Target, props: Props, context: Context
    ) -> Props | None: ...


def call_component(
    target: Target, props: Props, context: Context, middleware: Iterable[Middleware]
) -> Any:  # noqa: ANN401
    """What the component returns; `None` if it was halted."""
    for each in sorted(middleware, key=lambda one: one.priority):
        changed = each(target, props, context)
        if changed is None:
            return None
        props = changed
    return target(**props)
