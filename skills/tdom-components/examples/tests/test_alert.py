from rendering import ESCAPED, HOSTILE, render

from alert import Alert


def test_information_waits_its_turn() -> None:
    assert render(t"<{Alert}>Saved <b>it</b></{Alert}>") == (
        '<div class="alert alert-info" role="status">'
        '<div class="alert-body">Saved <b>it</b></div></div>'
    )


def test_a_hostile_error_interrupts_and_is_escaped() -> None:
    alert = t"<{Alert} kind='error' dismissible>{HOSTILE}</{Alert}>"
    assert render(alert) == (
        '<div class="alert alert-error" role="alert">'
        f'<div class="alert-body">{ESCAPED}</div>'
        '<button type="button">Dismiss</button></div>'
    )
