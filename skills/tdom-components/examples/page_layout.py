"""Make the frame of every page: head with title and style sheets, header, main, footer."""

from collections.abc import Sequence
from string.templatelib import Template


def PageLayout(
    *,
    title: str,
    children: Template,
    site_name: str = "My Site",
    stylesheets: Sequence[str] = (),
    language: str = "en",
) -> Template:
    """A whole document round its children."""
    links = [t'<link rel="stylesheet" href={url}>' for url in stylesheets]
    return t"""
        <!doctype html>
        <html lang={language}>
            <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>{title} · {site_name}</title>
                {links}
            </head>
            <body>
                <header><a href="/">{site_name}</a></header>
                <main>{children}</main>
                <footer><small>{site_name}</small></footer>
            </body>
        </html>
    """
