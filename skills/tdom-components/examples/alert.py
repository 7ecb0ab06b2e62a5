"""Show a message box for success, warnings and errors that can be made dismissible."""

from string.templatelib import Template
from typing import Literal

type AlertKind = Literal["info", "success", "warning", "error"]


def Alert(
    *, children: Template, kind: AlertKind = "info", dismissible: bool = False
) -> Template:
    """A box round its children; errors interrupt a screen reader, the rest waits."""
    role = "alert" if kind == "error" else "status"
    close = t'<button type="button">Dismiss</button>'
    return t"""
        <div class={["alert", f"alert-{kind}"]} role={role}>
            <div class="alert-body">{children}</div>
            {dismissible and close}
        </div>
    """
