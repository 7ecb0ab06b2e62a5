from rendering import ESCAPED, HOSTILE, render

from card import Card


def test_a_card_without_footer_has_none() -> None:
    assert render(t"<{Card} title='Tea'><p>Hot.</p></{Card}>") == (
        '<section class="card"><h2>Tea</h2>'
        '<div class="card-body"><p>Hot.</p></div></section>'
    )


def test_hostile_titles_bodies_and_footers_are_escaped() -> None:
    card = t"<{Card} title={HOSTILE} footer={t'<b>{HOSTILE}</b>'}>{HOSTILE}</{Card}>"
    assert render(card) == (
        f'<section class="card"><h2>{ESCAPED}</h2>'
        f'<div class="card-body">{ESCAPED}</div>'
        f"<footer><b>{ESCAPED}</b></footer></section>"
    )
