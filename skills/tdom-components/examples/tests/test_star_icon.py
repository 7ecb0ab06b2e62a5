from rendering import ESCAPED, HOSTILE, render

from star_icon import STAR, StarIcon


def test_a_star_has_a_size_a_colour_and_a_title() -> None:
    assert render(t"<{StarIcon} size={16} color='gold' title='Favourite' />") == (
        '<svg width="16" height="16" viewBox="0 0 24 24" fill="gold" role="img">'
        f'<title>Favourite</title><path d="{STAR}"></path></svg>'
    )


def test_hostile_titles_and_colours_are_escaped() -> None:
    assert render(t"<{StarIcon} color={HOSTILE} title={HOSTILE} />") == (
        f'<svg width="24" height="24" viewBox="0 0 24 24" fill="{ESCAPED}" role="img">'
        f'<title>{ESCAPED}</title><path d="{STAR}"></path></svg>'
    )
