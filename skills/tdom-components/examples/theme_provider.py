"""Let every component below know whether the page is light or dark."""

from contextvars import ContextVar
from string.templatelib import Template

from tdom import Scope, ScopedTemplate

current_theme: ContextVar[str] = ContextVar("current_theme", default="light")


def ThemeProvider(*, children: Template, theme: str) -> ScopedTemplate:
    """Sets the theme while its children are rendered."""
    return ScopedTemplate(Scope(current_theme, theme), children)


def ThemedPanel(*, children: Template) -> Template:
    """A panel in the colours of the theme it is rendered under."""
    return t'<div class="panel panel-{current_theme.get()}">{children}</div>'
