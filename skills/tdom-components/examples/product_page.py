"""Show everything about a product: pictures, facts and an order button if in stock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string.templatelib import Template


@dataclass(frozen=True, kw_only=True)
class ProductPage:
    """The detail page of one product."""

    title: str
    order_url: str
    image_urls: Sequence[str]
    facts: Mapping[str, str]
    stock: int

    def __call__(self) -> Template:
        return t"""
            <main class="product-page">
                <h1>{self.title}</h1>
                {self.gallery()}
                <dl>{self.fact_list()}</dl>
                {self.order_form() if self.stock else self.sold_out()}
            </main>
        """

    def gallery(self) -> Template:
        count = len(self.image_urls)
        images = [
            t'<li><img src={url} alt="{self.title}, picture {number} of {count}"></li>'
            for number, url in enumerate(self.image_urls, start=1)
        ]
        return t'<ul class="gallery">{images}</ul>'

    def fact_list(self) -> list[Template]:
        return [
            t"<dt>{name}</dt><dd>{value}</dd>" for name, value in self.facts.items()
        ]

    def order_form(self) -> Template:
        return t"""
            <form action={self.order_url} method="post">
                <input type="number" name="amount" value="1" min="1" max={self.stock}>
                <button>Order</button>
            </form>
        """

    def sold_out(self) -> Template:
        return t'<p class="sold-out">Sold out</p>'
