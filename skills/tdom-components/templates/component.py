"""An example component with a title and items."""

from string.templatelib import Template


def Example(
    children: Template = t"",
    *,
    title: str,
    items: tuple[str, ...],
    **attributes: str,
) -> Template:
    return t"""
        <section class="example" {attributes}>
            <h2 class="title">{title}</h2>
            <ul class="items">
                {[t"<li>{item}</li>" for item in items]}
            </ul>
            {children}
        </section>
    """
