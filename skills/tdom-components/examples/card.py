"""Make a card with a title, any content and an optional footer."""

from dataclasses import dataclass
from string.templatelib import Template


@dataclass(frozen=True, kw_only=True)
class Card:
    """A box with a heading; the footer is a template so that it may hold buttons."""

    title: str
    children: Template
    footer: Template | None = None

    def __call__(self) -> Template:
        return t"""
            <section class="card">
                <h2>{self.title}</h2>
                <div class="card-body">{self.children}</div>
                {self.footer and t"<footer>{self.footer}</footer>"}
            </section>
        """
