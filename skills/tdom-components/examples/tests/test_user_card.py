from rendering import ESCAPED, HOSTILE, render

from user_card import UserCard


def test_the_whole_card_links_to_the_profile() -> None:
    card = t"<{UserCard} name='Ada' avatar_url='/ada.png' profile_url='/users/ada' />"
    assert render(card) == (
        '<article class="user-card"><a href="/users/ada">'
        '<img src="/ada.png" alt="" width="48" height="48" />'
        '<span class="user-card-name">Ada</span></a></article>'
    )


def test_hostile_text_is_escaped_everywhere() -> None:
    card = t"<{UserCard} name={HOSTILE} avatar_url={HOSTILE} profile_url={HOSTILE} />"
    assert render(card) == (
        f'<article class="user-card"><a href="{ESCAPED}">'
        f'<img src="{ESCAPED}" alt="" width="48" height="48" />'
        f'<span class="user-card-name">{ESCAPED}</span></a></article>'
    )
