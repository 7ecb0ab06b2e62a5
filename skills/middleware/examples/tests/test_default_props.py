import svcs
from component_chain import call_component

from default_props import DefaultPropsMiddleware

CONTEXT = svcs.Container(svcs.Registry())
MIDDLEWARE = [DefaultPropsMiddleware(defaults={"theme": "dark", "language": "de"})]


def panel(*, title: str, theme: str = "light") -> str:
    return f"{title} in {theme}"


def test_what_a_component_has_is_filled_in() -> None:
    shown = call_component(panel, {"title": "Tea"}, CONTEXT, MIDDLEWARE)
    assert shown == "Tea in dark"


def test_what_the_page_says_wins_and_its_props_are_not_changed() -> None:
    props = {"title": "Tea", "theme": "blue"}
    assert call_component(panel, props, CONTEXT, MIDDLEWARE) == "Tea in blue"
    assert props == {"title": "Tea", "theme": "blue"}
