import svcs
from component_chain import call_component

from asset_collection import AssetCollectionMiddleware, PageAssets
from permission_gate import CurrentUser, PermissionGateMiddleware


class Panel:
    """A component with a style sheet."""

    stylesheets = ("/base.css", "/panel.css")


class Chart:
    """Another one, with a style sheet in common."""

    stylesheets = ("/base.css", "/chart.css")


class SecretChart(Chart):
    """One that nobody may see."""

    permission = "secrets"
    stylesheets = ("/secret.css",)


def test_style_sheets_come_once_and_only_for_what_is_shown() -> None:
    registry = svcs.Registry()
    registry.register_factory(PageAssets, PageAssets)
    registry.register_value(CurrentUser, CurrentUser())
    context = svcs.Container(registry)
    middleware = [AssetCollectionMiddleware(), PermissionGateMiddleware()]
    for component in (Panel, Chart, SecretChart, Panel):
        call_component(component, {}, context, middleware)
    stylesheets = context.get(PageAssets).stylesheets
    assert stylesheets == ["/base.css", "/panel.css", "/chart.css"]
