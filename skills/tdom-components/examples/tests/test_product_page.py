from rendering import ESCAPED, HOSTILE, render

from product_page import ProductPage


def test_what_is_in_stock_can_be_ordered() -> None:
    page = t"""
        <{ProductPage} title="Tea" order_url="/order" image_urls={["/1.png"]}
            facts={ ({"Weight": "100 g"}) } stock={3} />
    """
    assert render(page) == (
        '<main class="product-page"><h1>Tea</h1><ul class="gallery">'
        '<li><img src="/1.png" alt="Tea, picture 1 of 1" /></li></ul>'
        "<dl><dt>Weight</dt><dd>100 g</dd></dl>"
        '<form action="/order" method="post">'
        '<input type="number" name="amount" value="1" min="1" max="3" />'
        "<button>Order</button></form></main>"
    )


def test_hostile_products_are_escaped_even_when_sold_out() -> None:
    page = t"""
        <{ProductPage} title={HOSTILE} order_url="/order" image_urls={[HOSTILE]}
            facts={ ({HOSTILE: HOSTILE}) } stock={0} />
    """
    assert render(page) == (
        f'<main class="product-page"><h1>{ESCAPED}</h1><ul class="gallery">'
        f'<li><img src="{ESCAPED}" alt="{ESCAPED}, picture 1 of 1" /></li></ul>'
        f"<dl><dt>{ESCAPED}</dt><dd>{ESCAPED}</dd></dl>"
        '<p class="sold-out">Sold out</p></main>'
    )
