from rendering import ESCAPED, HOSTILE, render

from flash_messages import FlashMessages


def test_no_messages_leave_no_trace() -> None:
    assert render(t"<{FlashMessages} messages={[]} />") == ""


def test_each_message_is_an_alert_and_hostile_ones_are_escaped() -> None:
    messages = [("success", "Saved."), ("error", HOSTILE)]
    close = '<button type="button">Dismiss</button></div>'
    assert render(t"<{FlashMessages} messages={messages} />") == (
        '<section class="flash" aria-label="Messages">'
        '<div class="alert alert-success" role="status">'
        f'<div class="alert-body">Saved.</div>{close}'
        '<div class="alert alert-error" role="alert">'
        f'<div class="alert-body">{ESCAPED}</div>{close}</section>'
    )
