"""What the page shows, in one sentence."""

from myapp.web import view
from tdom import html


@view
def example_view(*, title: str) -> str:
    return html(t"<main><h1>{title}</h1></main>")
