"""Hide components from users who lack the permission that the component asks for."""

from dataclasses import dataclass

from interfaces.components import Context, Props, Target


@dataclass(frozen=True, kw_only=True)
class CurrentUser:
    """Who looks at the page."""

    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class PermissionGateMiddleware:
    """Halts if the user of this request lacks the component's `permission`."""

    priority: int = 0

    def __call__(self, target: Target, props: Props, context: Context) -> Props | None:
        permission = getattr(target, "permission", None)
        if permission is None:
            return props
        user = context.get(CurrentUser)
        return props if permission in user.permissions else None
