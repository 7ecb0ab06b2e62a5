from rendering import ESCAPED, HOSTILE, render

from theme_provider import ThemedPanel, ThemeProvider


def test_a_theme_reaches_what_is_below_and_ends_with_it() -> None:
    page = t"""
        <{ThemeProvider} theme="dark"><section><{ThemedPanel}>in</{ThemedPanel}></section></{ThemeProvider}>
        <{ThemedPanel}>out</{ThemedPanel}>
    """
    assert render(page) == (
        '<section><div class="panel panel-dark">in</div></section>'
        '<div class="panel panel-light">out</div>'
    )


def test_hostile_themes_are_escaped() -> None:
    page = t"""
        <{ThemeProvider} theme={HOSTILE}><{ThemedPanel}>in</{ThemedPanel}></{ThemeProvider}>
    """
    assert render(page) == f'<div class="panel panel-{ESCAPED}">in</div>'
