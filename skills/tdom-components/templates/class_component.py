"""What the component shows, in one sentence."""

from dataclasses import dataclass
from string.templatelib import Template


@dataclass(frozen=True, kw_only=True)
class Example:
    title: str
    items: tuple[str, ...] = ()
    children: Template = t""

    def __call__(self) -> Template:
        return t"""
            <section>
                <h2>{self.title}</h2>
                <ul>{[self.row(item) for item in self.items]}</ul>
                {self.children}
            </section>
        """

    def row(self, item: str) -> Template:
        return t"<li>{item}</li>"
