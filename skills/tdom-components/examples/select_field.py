"""Make a drop-down with a label in which the current choice is selected."""

from collections.abc import Mapping
from string.templatelib import Template


def SelectField(
    *, name: str, label: str, choices: Mapping[str, str], selected: str | None = None
) -> Template:
    """A label with its choices; `choices` maps what is sent to what is shown."""
    options = [
        t"<option value={value} selected={value == selected}>{title}</option>"
        for value, title in choices.items()
    ]
    return t"""
        <div class="field">
            <label for={name}>{label}</label>
            <select id={name} name={name}>{options}</select>
        </div>
    """
