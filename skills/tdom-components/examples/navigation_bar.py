"""Make a navigation bar that marks the page the visitor is on."""

from collections.abc import Sequence
from dataclasses import dataclass
from string.templatelib import Template


@dataclass(frozen=True)
class NavigationLink:
    """An entry of the bar."""

    title: str
    url: str


def NavigationBar(
    *, links: Sequence[NavigationLink], current_url: str, label: str = "Main"
) -> Template:
    """Links in a row; the one to the current page says so."""
    items = [
        t"""
            <li>
                <a href={link.url} aria-current={is_current and "page"}>{link.title}</a>
            </li>
        """
        for link in links
        for is_current in [link.url == current_url]
    ]
    return t"<nav aria-label={label}><ul>{items}</ul></nav>"
