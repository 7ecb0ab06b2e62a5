"""What the component shows, in one sentence."""

from string.templatelib import Template


def Example(children: Template = t"", *, title: str, **attributes: str) -> Template:
    return t"""
        <section {attributes}>
            <h2>{title}</h2>
            {children}
        </section>
    """
