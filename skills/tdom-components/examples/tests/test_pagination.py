from rendering import ESCAPED, HOSTILE, render

from pagination import Pagination


def test_a_page_in_the_middle_has_neighbours_on_both_sides() -> None:
    pages = t"<{Pagination} current={5} page_count={9} base_url='/list' />"
    assert render(pages) == (
        '<nav aria-label="Pages"><ul class="pagination">'
        '<li><a href="/list?page=4" rel="prev">Previous</a></li>'
        '<li><a href="/list?page=3">3</a></li><li><a href="/list?page=4">4</a></li>'
        '<li><span aria-current="page">5</span></li>'
        '<li><a href="/list?page=6">6</a></li><li><a href="/list?page=7">7</a></li>'
        '<li><a href="/list?page=6" rel="next">Next</a></li></ul></nav>'
    )


def test_a_single_page_needs_no_links() -> None:
    assert render(t"<{Pagination} current={1} page_count={1} base_url='/list' />") == ""


def test_a_hostile_address_is_escaped() -> None:
    pages = t"<{Pagination} current={1} page_count={2} base_url={HOSTILE} />"
    assert render(pages) == (
        '<nav aria-label="Pages"><ul class="pagination">'
        '<li><span aria-current="page">1</span></li>'
        f'<li><a href="{ESCAPED}?page=2">2</a></li>'
        f'<li><a href="{ESCAPED}?page=2" rel="next">Next</a></li></ul></nav>'
    )
