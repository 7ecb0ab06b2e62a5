from datetime import date

from rendering import ESCAPED, HOSTILE, render

from article_page import Article, ArticlePage


def test_an_article_is_the_main_content() -> None:
    article = Article("On Tea", "Ada", date(2026, 5, 4), ["Hot.", "Good."])
    assert render(t"<{ArticlePage} article={article} />") == (
        "<main><article><header><h1>On Tea</h1>"
        '<p>By Ada, <time datetime="2026-05-04">2026-05-04</time></p></header>'
        "<p>Hot.</p><p>Good.</p></article></main>"
    )


def test_hostile_articles_are_escaped() -> None:
    article = Article(HOSTILE, HOSTILE, date(2026, 5, 4), [HOSTILE])
    assert render(t"<{ArticlePage} article={article} />") == (
        f"<main><article><header><h1>{ESCAPED}</h1>"
        f'<p>By {ESCAPED}, <time datetime="2026-05-04">2026-05-04</time></p></header>'
        f"<p>{ESCAPED}</p></article></main>"
    )
