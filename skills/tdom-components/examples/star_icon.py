"""Draw a star icon as SVG in a size and colour of my choice."""

from string.templatelib import Template

STAR = "M12 2l3 7h7l-5.5 4.5 2 7.5L12 16.5 5.5 21l2-7.5L2 9h7z"


def StarIcon(*, size: int = 24, color: str = "currentColor", title: str) -> Template:
    """A drawing with a title for those who do not see it."""
    return t"""
        <svg width={size} height={size} viewBox="0 0 24 24" fill={color} role="img">
            <title>{title}</title>
            <path d={STAR} />
        </svg>
    """
