import svcs
from component_chain import call_component

from permission_gate import CurrentUser, PermissionGateMiddleware


def greeting() -> str:
    return "Hello!"


class DeleteButton:
    """A component that not everybody may see."""

    permission = "delete"

    def __call__(self) -> str:
        return "Delete"


def show(target: type[DeleteButton], *permissions: str) -> object:
    registry = svcs.Registry()
    registry.register_value(
        CurrentUser, CurrentUser(permissions=frozenset(permissions))
    )
    context = svcs.Container(registry)
    return call_component(target, {}, context, [PermissionGateMiddleware()])


def test_only_those_who_may_see_the_component() -> None:
    assert isinstance(show(DeleteButton, "edit", "delete"), DeleteButton)
    assert show(DeleteButton, "edit") is None


def test_components_without_a_permission_are_for_all() -> None:
    context = svcs.Container(svcs.Registry())
    shown = call_component(greeting, {}, context, [PermissionGateMiddleware()])
    assert shown == "Hello!"
