"""Show questions and answers that fold open one by one."""

from collections.abc import Mapping
from string.templatelib import Template


def Accordion(
    *, entries: Mapping[str, Template], name: str, opened: str | None = None
) -> Template:
    """One fold per entry; the shared name lets only one be open."""
    folds = [
        t"""
            <details name={name} open={question == opened}>
                <summary>{question}</summary>
                {answer}
            </details>
        """
        for question, answer in entries.items()
    ]
    return t'<div class="accordion">{folds}</div>'
