"""Make the logged-in user of a request available to all services of that request."""

from dataclasses import dataclass

import svcs


@dataclass(frozen=True, kw_only=True)
class CurrentUserService:
    """Who asks; nobody in particular unless a request says otherwise."""

    name: str | None = None
    permissions: frozenset[str] = frozenset()

    def may(self, permission: str) -> bool:
        return permission in self.permissions


def log_in(
    container: svcs.Container, *, name: str, permissions: frozenset[str]
) -> None:
    """Register the user for this container only: other requests stay anonymous."""
    user = CurrentUserService(name=name, permissions=permissions)
    container.register_local_value(CurrentUserService, user)


def register(registry: svcs.Registry) -> None:
    registry.register_value(CurrentUserService, CurrentUserService())
