from rendering import ESCAPED, HOSTILE, render

from badge import Badge


def test_small_counts_are_shown_as_they_are() -> None:
    assert render(t"<{Badge} count={7} label='new messages' />") == (
        '<span class="badge" aria-label="7 new messages">7</span>'
    )


def test_zero_shows_nothing() -> None:
    assert render(t"<{Badge} count={0} label='new messages' />") == ""


def test_large_counts_are_cut_and_hostile_labels_escaped() -> None:
    assert render(t"<{Badge} count={120} label={HOSTILE} />") == (
        f'<span class="badge" aria-label="120 {ESCAPED}">99+</span>'
    )
