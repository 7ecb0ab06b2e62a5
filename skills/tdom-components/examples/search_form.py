"""Make a search box that keeps what was searched for and says how much was found."""

from string.templatelib import Template


def SearchForm(
    *, action: str, query: str = "", result_count: int | None = None
) -> Template:
    """A form that asks with GET, so that results have an address."""
    return t"""
        <search>
            <form action={action} method="get">
                <input type="search" name="q" value={query} aria-label="Search">
                <button>Search</button>
            </form>
            {query and result_count is not None and found(query, result_count)}
        </search>
    """


def found(query: str, count: int) -> Template:
    """The sentence about the results."""
    noun = "result" if count == 1 else "results"
    return t'<p role="status">{count} {noun} for “{query}”</p>'
