"""Show a blog article with title, author, date and paragraphs on a page of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from string.templatelib import Template


@dataclass(frozen=True)
class Article:
    """A text that somebody wrote."""

    title: str
    author: str
    published: date
    paragraphs: Sequence[str]


def ArticlePage(*, article: Article) -> Template:
    """The article as the main content of a page."""
    paragraphs = [t"<p>{paragraph}</p>" for paragraph in article.paragraphs]
    day = article.published.isoformat()
    return t"""
        <main>
            <article>
                <header>
                    <h1>{article.title}</h1>
                    <p>By {article.author}, <time datetime={day}>{day}</time></p>
                </header>
                {paragraphs}
            </article>
        </main>
    """
