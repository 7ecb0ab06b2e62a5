"""Show a menu of any depth in which entries with sub-entries can be folded."""

from dataclasses import dataclass
from string.templatelib import Template


@dataclass(frozen=True)
class MenuNode:
    """An entry with what is below it."""

    title: str
    url: str
    nodes: tuple[MenuNode, ...] = ()


def TreeMenu(*, nodes: tuple[MenuNode, ...]) -> Template:
    """A list; entries with nodes hold a `TreeMenu` of their own."""
    items = [t"<li><{TreeEntry} node={node} /></li>" for node in nodes]
    return t"<ul>{items}</ul>"


def TreeEntry(*, node: MenuNode) -> Template:
    """A link, or a fold with the entries below it."""
    link = t"<a href={node.url}>{node.title}</a>"
    if not node.nodes:
        return link
    below = t"<{TreeMenu} nodes={node.nodes} />"
    return t"<details><summary>{link}</summary>{below}</details>"
