"""Make a button with a primary and a danger look that passes other attributes on."""

from string.templatelib import Template
from typing import Literal


def ActionButton(
    *,
    children: Template,
    look: Literal["plain", "primary", "danger"] = "plain",
    submits: bool = False,
    **attributes: object,
) -> Template:
    """A button; what it does not know, such as `disabled`, goes to the element."""
    kind = "submit" if submits else "button"
    looks = {"button": True, f"button-{look}": look != "plain"}
    return t"<button type={kind} class={looks} {attributes}>{children}</button>"
