import pytest
import svcs
from component_chain import call_component

from default_props import DefaultPropsMiddleware
from prop_check import PropCheckMiddleware, WrongProps

CONTEXT = svcs.Container(svcs.Registry())


def panel(*, title: str, theme: str, width: int = 3) -> str:
    return f"{title} in {theme}"


def link(*, url: str, **attributes: object) -> str:
    return f"{url} {sorted(attributes)}"


def test_missing_and_unknown_props_are_named() -> None:
    middleware = [PropCheckMiddleware()]
    with pytest.raises(WrongProps, match=r"^panel needs theme, title$"):
        call_component(panel, {"width": 4}, CONTEXT, middleware)
    props = {"title": "Tea", "theme": "dark", "colour": "red"}
    with pytest.raises(WrongProps, match=r"^panel has no colour$"):
        call_component(panel, props, CONTEXT, middleware)


def test_what_others_fill_in_counts() -> None:
    middleware = [
        PropCheckMiddleware(),
        DefaultPropsMiddleware(defaults={"theme": "dark"}),
    ]
    assert call_component(panel, {"title": "Tea"}, CONTEXT, middleware) == "Tea in dark"


def test_components_that_take_anything_may_get_anything() -> None:
    props = {"url": "/", "rel": "next"}
    shown = call_component(link, props, CONTEXT, [PropCheckMiddleware()])
    assert shown == "/ ['rel']"
