from rendering import ESCAPED, HOSTILE, render

from navigation_bar import NavigationBar, NavigationLink


def test_the_current_page_is_marked() -> None:
    links = [NavigationLink("Home", "/"), NavigationLink("About", "/about")]
    assert render(t"<{NavigationBar} links={links} current_url='/about' />") == (
        '<nav aria-label="Main"><ul><li><a href="/">Home</a></li>'
        '<li><a href="/about" aria-current="page">About</a></li></ul></nav>'
    )


def test_hostile_links_and_labels_are_escaped() -> None:
    links = [NavigationLink(HOSTILE, HOSTILE)]
    bar = t"<{NavigationBar} links={links} current_url='/' label={HOSTILE} />"
    assert render(bar) == (
        f'<nav aria-label="{ESCAPED}"><ul>'
        f'<li><a href="{ESCAPED}">{ESCAPED}</a></li></ul></nav>'
    )
