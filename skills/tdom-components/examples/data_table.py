"""Show rows of data as a table with a caption and column headings."""

from collections.abc import Mapping, Sequence
from string.templatelib import Template


def DataTable(
    *,
    caption: str,
    columns: Mapping[str, str],
    rows: Sequence[Mapping[str, object]],
) -> Template:
    """One row per mapping; `columns` gives the keys, their order and their headings."""
    headings = [t'<th scope="col">{heading}</th>' for heading in columns.values()]
    lines = [
        t"<tr>{[t'<td>{row.get(key, "")}</td>' for key in columns]}</tr>"
        for row in rows
    ]
    return t"""
        <table>
            <caption>{caption}</caption>
            <thead><tr>{headings}</tr></thead>
            <tbody>{lines}</tbody>
        </table>
    """
