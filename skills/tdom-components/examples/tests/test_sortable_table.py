from rendering import ESCAPED, HOSTILE, render

from sortable_table import SortableTable, Sorting


def test_the_sorted_column_offers_the_other_direction() -> None:
    table = t"""
        <{SortableTable} columns={["name", "age"]} rows={[["Ada", "36"]]}
            sorting={Sorting("name", "ascending")} />
    """
    assert render(table) == (
        '<table class="sortable"><thead><tr><th scope="col" aria-sort="ascending">'
        '<a href="?sort=name&amp;direction=descending">name</a></th>'
        '<th scope="col"><a href="?sort=age&amp;direction=ascending">age</a></th>'
        "</tr></thead><tbody><tr><td>Ada</td><td>36</td></tr></tbody></table>"
    )


def test_hostile_columns_and_cells_are_escaped() -> None:
    table = t"""
        <{SortableTable} columns={[HOSTILE]} rows={[[HOSTILE]]}
            sorting={Sorting("name", "ascending")} />
    """
    assert render(table) == (
        '<table class="sortable"><thead><tr><th scope="col">'
        f'<a href="?sort={ESCAPED}&amp;direction=ascending">{ESCAPED}</a></th>'
        f"</tr></thead><tbody><tr><td>{ESCAPED}</td></tr></tbody></table>"
    )
