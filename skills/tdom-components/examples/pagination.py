"""Add page links under a list: previous, a few pages around the current one, next."""

from string.templatelib import Template

NEIGHBOURS = 2


def PageLink(*, page: int, current: int, base_url: str) -> Template:
    """One number: a link, or plain text for the page that is shown."""
    if page == current:
        return t'<li><span aria-current="page">{page}</span></li>'
    return t'<li><a href="{base_url}?page={page}">{page}</a></li>'


def Pagination(*, current: int, page_count: int, base_url: str) -> Template:
    """Links to the pages near `current`; nothing when there is only one page."""
    if page_count <= 1:
        return t""
    first = max(1, current - NEIGHBOURS)
    last = min(page_count, current + NEIGHBOURS)
    previous = (
        t'<li><a href="{base_url}?page={current - 1}" rel="prev">Previous</a></li>'
    )
    following = t'<li><a href="{base_url}?page={current + 1}" rel="next">Next</a></li>'
    pages = [
        t"<{PageLink} page={page} current={current} base_url={base_url} />"
        for page in range(first, last + 1)
    ]
    return t"""
        <nav aria-label="Pages">
            <ul class="pagination">
                {current > 1 and previous}
                {pages}
                {current < page_count and following}
            </ul>
        </nav>
    """
