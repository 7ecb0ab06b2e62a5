"""Show a product with picture, price and a strikethrough old price when it is on sale."""

from dataclasses import dataclass
from decimal import Decimal
from string.templatelib import Template


@dataclass(frozen=True, kw_only=True)
class ProductCard:
    """A product in a list of products."""

    title: str
    url: str
    image_url: str
    price: Decimal
    old_price: Decimal | None = None

    def __call__(self) -> Template:
        classes = {"product": True, "product-on-sale": self.is_on_sale}
        return t"""
            <article class={classes}>
                <a href={self.url}><img src={self.image_url} alt={self.title}></a>
                <h3>{self.title}</h3>
                <p class="price">{self.prices()}</p>
            </article>
        """

    @property
    def is_on_sale(self) -> bool:
        return self.old_price is not None and self.old_price > self.price

    def prices(self) -> Template:
        if not self.is_on_sale:
            return t"{self.price:.2f} €"
        return t"<del>{self.old_price:.2f} €</del> <ins>{self.price:.2f} €</ins>"
