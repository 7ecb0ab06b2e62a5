"""Fill in props that are the same everywhere, such as the language and the theme."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from interfaces.components import Context, Props, Target


@dataclass(frozen=True, kw_only=True)
class DefaultPropsMiddleware:
    """Only props a component has, and only where the page did not say otherwise."""

    defaults: Mapping[str, Any] = field(default_factory=dict)
    priority: int = -10

    def __call__(self, target: Target, props: Props, context: Context) -> Props:
        wanted = signature(target).parameters.keys() & self.defaults.keys()
        return {name: self.defaults[name] for name in wanted} | props
