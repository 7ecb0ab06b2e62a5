"""Make a login form with a CSRF token that shows why the last attempt failed."""

from dataclasses import dataclass
from string.templatelib import Template

from text_field import TextField


@dataclass(frozen=True, kw_only=True)
class LoginForm:
    """Asks for e-mail and password; never shows a password again."""

    action: str
    csrf_token: str
    email: str = ""
    failure: str | None = None

    def __call__(self) -> Template:
        failure = t'<p class="form-error" role="alert">{self.failure}</p>'
        return t"""
            <form action={self.action} method="post">
                <input type="hidden" name="csrf_token" value={self.csrf_token}>
                {self.failure and failure}
                <{TextField} name="email" label="E-mail" kind="email"
                    value={self.email} required />
                <{TextField} name="password" label="Password" kind="password" required />
                <button>Log in</button>
            </form>
        """
