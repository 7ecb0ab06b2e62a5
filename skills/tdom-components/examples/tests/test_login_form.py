from rendering import ESCAPED, HOSTILE, render

from login_form import LoginForm

FIELDS_AFTER_EMAIL = (
    '<div class="field"><label for="password">Password</label>'
    '<input id="password" name="password" type="password" value="" required /></div>'
    "<button>Log in</button></form>"
)


def test_a_fresh_form_carries_its_token() -> None:
    assert render(t"<{LoginForm} action='/login' csrf_token='t0k' />") == (
        '<form action="/login" method="post">'
        '<input type="hidden" name="csrf_token" value="t0k" />'
        '<div class="field"><label for="email">E-mail</label>'
        '<input id="email" name="email" type="email" value="" required /></div>'
        + FIELDS_AFTER_EMAIL
    )


def test_hostile_mail_addresses_and_failures_are_escaped() -> None:
    form = t"""
        <{LoginForm} action="/login" csrf_token={HOSTILE} email={HOSTILE}
            failure={HOSTILE} />
    """
    assert render(form) == (
        '<form action="/login" method="post">'
        f'<input type="hidden" name="csrf_token" value="{ESCAPED}" />'
        f'<p class="form-error" role="alert">{ESCAPED}</p>'
        '<div class="field"><label for="email">E-mail</label>'
        f'<input id="email" name="email" type="email" value="{ESCAPED}" required /></div>'
        + FIELDS_AFTER_EMAIL
    )
