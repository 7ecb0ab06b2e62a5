from rendering import ESCAPED, HOSTILE, render

from page_layout import PageLayout


def test_a_page_is_a_whole_document() -> None:
    page = (
        t"<{PageLayout} title='Tea' stylesheets={['/a.css']}><p>Hot.</p></{PageLayout}>"
    )
    assert render(page) == (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8" />'
        '<meta name="viewport" content="width=device-width, initial-scale=1" />'
        '<title>Tea · My Site</title><link rel="stylesheet" href="/a.css" /></head>'
        '<body><header><a href="/">My Site</a></header><main><p>Hot.</p></main>'
        "<footer><small>My Site</small></footer></body></html>"
    )


def test_a_hostile_title_cannot_leave_the_head() -> None:
    page = render(
        t"<{PageLayout} title={'</title>' + HOSTILE}>{HOSTILE}</{PageLayout}>"
    )
    assert f"<title>&lt;/title&gt;{ESCAPED} · My Site</title>" in page
    assert f"<main>{ESCAPED}</main>" in page
    assert HOSTILE not in page
