"""Show a table whose column headings are links that sort it up and down."""

from collections.abc import Sequence
from dataclasses import dataclass
from string.templatelib import Template
from typing import Literal

type Direction = Literal["ascending", "descending"]


@dataclass(frozen=True)
class Sorting:
    """The column a table is sorted by."""

    column: str
    direction: Direction

    def after_click(self, column: str) -> Direction:
        """A second click on the sorted column turns the order round."""
        is_ascending = self.column == column and self.direction == "ascending"
        return "descending" if is_ascending else "ascending"


@dataclass(frozen=True, kw_only=True)
class SortableTable:
    """Headings that sort, above rows of text."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    sorting: Sorting

    def __call__(self) -> Template:
        headings = [self.heading(column) for column in self.columns]
        lines = [
            t"<tr>{[t'<td>{cell}</td>' for cell in row]}</tr>" for row in self.rows
        ]
        return t"""
            <table class="sortable">
                <thead><tr>{headings}</tr></thead>
                <tbody>{lines}</tbody>
            </table>
        """

    def heading(self, column: str) -> Template:
        is_sorted = column == self.sorting.column
        direction = self.sorting.after_click(column)
        return t"""
            <th scope="col" aria-sort={self.sorting.direction if is_sorted else None}>
                <a href="?sort={column}&amp;direction={direction}">{column}</a>
            </th>
        """
