"""Show the messages left over from the last request, each in an alert of its kind."""

from collections.abc import Sequence
from string.templatelib import Template

from alert import Alert, AlertKind


def FlashMessages(*, messages: Sequence[tuple[AlertKind, str]]) -> Template:
    """One dismissible alert per message; nothing at all without messages."""
    if not messages:
        return t""
    alerts = [
        t"<{Alert} kind={kind} dismissible>{message}</{Alert}>"
        for kind, message in messages
    ]
    return t'<section class="flash" aria-label="Messages">{alerts}</section>'
