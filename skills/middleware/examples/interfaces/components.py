"""What middleware round components is called with, as tdom-svcs does it.

A component is called with its props after every middleware, in the order of their `priority` from low to high, had a look at them.
One that returns `None` halts: the component is not rendered.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

Service = TypeVar("Service")
Props: TypeAlias = dict[str, Any]
Target: TypeAlias = Callable[..., Any]


class Context(Protocol):
    """Where services come from; a `svcs.Container` is one."""

    def get(self, svc_type: type[Service], /) -> Service: ...
