from rendering import ESCAPED, HOSTILE, render

from search_form import SearchForm


def test_an_empty_form_says_nothing_about_results() -> None:
    assert render(t"<{SearchForm} action='/find' />") == (
        '<search><form action="/find" method="get">'
        '<input type="search" name="q" value="" aria-label="Search" />'
        "<button>Search</button></form></search>"
    )


def test_a_hostile_query_is_kept_and_escaped() -> None:
    form = t"<{SearchForm} action='/find' query={HOSTILE} result_count={1} />"
    assert render(form) == (
        '<search><form action="/find" method="get">'
        f'<input type="search" name="q" value="{ESCAPED}" aria-label="Search" />'
        "<button>Search</button></form>"
        f'<p role="status">1 result for “{ESCAPED}”</p></search>'
    )
