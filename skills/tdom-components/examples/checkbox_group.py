"""Let people choose several options in a group of checkboxes under one legend."""

from collections.abc import Collection, Mapping
from string.templatelib import Template


def CheckboxGroup(
    *,
    name: str,
    legend: str,
    choices: Mapping[str, str],
    checked: Collection[str] = (),
) -> Template:
    """A field set; all boxes send the same name, each its own value."""
    boxes = [
        t"""
            <label>
                <input type="checkbox" name={name} value={value}
                    checked={value in checked}>
                <span>{title}</span>
            </label>
        """
        for value, title in choices.items()
    ]
    return t"<fieldset><legend>{legend}</legend>{boxes}</fieldset>"
