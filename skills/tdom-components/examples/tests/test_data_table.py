from rendering import ESCAPED, HOSTILE, render

from data_table import DataTable


def test_columns_choose_and_order_the_cells() -> None:
    columns = {"name": "Name", "age": "Age"}
    rows = [{"age": 36, "name": "Ada"}, {"name": "Kurt"}]
    table = t"<{DataTable} caption='People' columns={columns} rows={rows} />"
    assert render(table) == (
        "<table><caption>People</caption>"
        '<thead><tr><th scope="col">Name</th><th scope="col">Age</th></tr></thead>'
        "<tbody><tr><td>Ada</td><td>36</td></tr>"
        "<tr><td>Kurt</td><td></td></tr></tbody></table>"
    )


def test_hostile_cells_headings_and_captions_are_escaped() -> None:
    columns, rows = {"name": HOSTILE}, [{"name": HOSTILE}]
    table = t"<{DataTable} caption={HOSTILE} columns={columns} rows={rows} />"
    assert render(table) == (
        f"<table><caption>{ESCAPED}</caption>"
        f'<thead><tr><th scope="col">{ESCAPED}</th></tr></thead>'
        f"<tbody><tr><td>{ESCAPED}</td></tr></tbody></table>"
    )
