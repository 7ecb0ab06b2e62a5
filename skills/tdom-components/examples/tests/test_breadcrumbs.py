from rendering import ESCAPED, HOSTILE, render

from breadcrumbs import Breadcrumbs, Crumb


def test_all_but_the_last_are_links() -> None:
    crumbs = [Crumb("Home", "/"), Crumb("Shop", "/shop"), Crumb("Tea", "/shop/tea")]
    assert render(t"<{Breadcrumbs} crumbs={crumbs} />") == (
        '<nav aria-label="Breadcrumbs"><ol class="breadcrumbs">'
        '<li><a href="/">Home</a></li><li><a href="/shop">Shop</a></li>'
        '<li aria-current="page">Tea</li></ol></nav>'
    )


def test_hostile_crumbs_are_escaped() -> None:
    crumbs = [Crumb(HOSTILE, HOSTILE), Crumb(HOSTILE, "/")]
    assert render(t"<{Breadcrumbs} crumbs={crumbs} />") == (
        '<nav aria-label="Breadcrumbs"><ol class="breadcrumbs">'
        f'<li><a href="{ESCAPED}">{ESCAPED}</a></li>'
        f'<li aria-current="page">{ESCAPED}</li></ol></nav>'
    )
