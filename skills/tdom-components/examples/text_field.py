"""Make a labelled text input that shows its error message."""

from string.templatelib import Template
from typing import Literal


def TextField(
    *,
    name: str,
    label: str,
    value: str = "",
    kind: Literal["text", "email", "password", "search"] = "text",
    error: str | None = None,
    required: bool = False,
) -> Template:
    """A label with its input; an error is tied to the input for screen readers."""
    error_id = f"{name}-error"
    message = t'<p class="field-error" id={error_id}>{error}</p>'
    aria = {"invalid": "true", "describedby": error_id} if error else None
    return t"""
        <div class="field">
            <label for={name}>{label}</label>
            <input id={name} name={name} type={kind} value={value} required={required}
                aria={aria}>
            {error and message}
        </div>
    """
