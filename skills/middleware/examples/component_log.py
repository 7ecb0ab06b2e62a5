"""Log which components are rendered and with which props, but never their values."""

import logging
from dataclasses import dataclass

from interfaces.components import Context, Props, Target

log = logging.getLogger("components")


@dataclass(frozen=True, kw_only=True)
class ComponentLogMiddleware:
    """Runs first, so that it also sees what others halt."""

    priority: int = -100

    def __call__(self, target: Target, props: Props, context: Context) -> Props:
        name = getattr(target, "__name__", repr(target))
        log.info("%s(%s)", name, ", ".join(sorted(props)))
        return props
