"""Show a small count badge that disappears at zero and says 99+ for large counts."""

from string.templatelib import Template

MOST_SHOWN = 99


def Badge(*, count: int, label: str) -> Template:
    """A number for the eye and a sentence for the ear; nothing for zero."""
    if count <= 0:
        return t""
    shown = str(count) if count <= MOST_SHOWN else f"{MOST_SHOWN}+"
    return t'<span class="badge" aria-label="{count} {label}">{shown}</span>'
