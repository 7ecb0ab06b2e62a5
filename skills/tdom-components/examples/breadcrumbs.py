"""Show breadcrumbs in which every page but the current one is a link."""

from collections.abc import Sequence
from dataclasses import dataclass
from string.templatelib import Template


@dataclass(frozen=True)
class Crumb:
    """A page on the way to the current one."""

    title: str
    url: str


def Breadcrumbs(*, crumbs: Sequence[Crumb]) -> Template:
    """The way to the last crumb, which is the current page."""
    *ancestors, current = crumbs
    links = [t"<li><a href={crumb.url}>{crumb.title}</a></li>" for crumb in ancestors]
    return t"""
        <nav aria-label="Breadcrumbs">
            <ol class="breadcrumbs">
                {links}
                <li aria-current="page">{current.title}</li>
            </ol>
        </nav>
    """
