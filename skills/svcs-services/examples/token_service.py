"""Sign tokens for links in e-mails and recognise them again until they expire."""

import hashlib
import hmac
from datetime import datetime, timedelta

import svcs

from clock_service import ClockService
from settings_service import SettingsService


class TokenService:
    """Makes tokens of the form `subject.expiry.signature`."""

    def __init__(
        self, *, clock: ClockService, secret: str, lifetime: timedelta
    ) -> None:
        self._clock = clock
        self._secret = secret.encode()
        self._lifetime = lifetime

    def issue(self, subject: str) -> str:
        expiry = int((self._clock.now() + self._lifetime).timestamp())
        claim = f"{subject}.{expiry}"
        return f"{claim}.{self._sign(claim)}"

    def read(self, token: str) -> str | None:
        """The subject of a token that is ours and still valid."""
        claim, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(claim).encode()):
            return None
        subject, _, expiry = claim.rpartition(".")
        now = self._clock.now()
        return (
            subject if datetime.fromtimestamp(int(expiry), now.tzinfo) > now else None
        )

    def _sign(self, claim: str) -> str:
        return hmac.new(self._secret, claim.encode(), hashlib.sha256).hexdigest()


def create_token(svcs_container: svcs.Container) -> TokenService:
    clock, settings = svcs_container.get(ClockService, SettingsService)
    lifetime = timedelta(hours=1)
    return TokenService(clock=clock, secret=settings.secret, lifetime=lifetime)


def register(registry: svcs.Registry) -> None:
    registry.register_factory(TokenService, create_token)
