"""An example view with a title and items."""

from myapp.web import view
from tdom import html


@view
def example_view(*, title: str, items: tuple[str, ...]) -> str:
    page = t"""
        <main class="example">
            <h1>Example</h1>
            <h2 class="title">{title}</h2>
            <ul class="items">
                {[t"<li>{item}</li>" for item in items]}
            </ul>
        </main>
    """
    return html(page)
