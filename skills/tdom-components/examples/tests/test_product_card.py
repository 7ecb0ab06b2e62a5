from decimal import Decimal

from rendering import ESCAPED, HOSTILE, render

from product_card import ProductCard


def test_a_sale_shows_both_prices() -> None:
    card = t"""
        <{ProductCard} title="Tea" url="/tea" image_url="/tea.png"
            price={Decimal(3)} old_price={Decimal("4.5")} />
    """
    assert render(card) == (
        '<article class="product product-on-sale">'
        '<a href="/tea"><img src="/tea.png" alt="Tea" /></a><h3>Tea</h3>'
        '<p class="price"><del>4.50 €</del><ins>3.00 €</ins></p></article>'
    )


def test_hostile_titles_are_escaped_in_text_and_attribute() -> None:
    card = t"""
        <{ProductCard} title={HOSTILE} url="/tea" image_url="/tea.png"
            price={Decimal(3)} />
    """
    assert render(card) == (
        '<article class="product">'
        f'<a href="/tea"><img src="/tea.png" alt="{ESCAPED}" /></a><h3>{ESCAPED}</h3>'
        '<p class="price">3.00 €</p></article>'
    )
