from datetime import UTC, datetime, timedelta

import pytest
import svcs

from clock_service import ClockService, StoppedClockService
from settings_service import SettingsService
from token_service import TokenService, register

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def make_tokens(moment: datetime = NOON, secret: str = "s3cret") -> TokenService:
    registry = svcs.Registry()
    registry.register_value(ClockService, StoppedClockService(moment=moment))
    settings = SettingsService(database_path="", secret=secret)
    registry.register_value(SettingsService, settings)
    register(registry)
    return svcs.Container(registry).get(TokenService)


def test_a_token_is_recognised_within_the_hour() -> None:
    token = make_tokens().issue("ada@example.com")
    soon = make_tokens(NOON + timedelta(minutes=59))
    assert soon.read(token) == "ada@example.com"


def test_a_token_expires() -> None:
    token = make_tokens().issue("ada@example.com")
    assert make_tokens(NOON + timedelta(hours=1)).read(token) is None


@pytest.mark.parametrize("token", ["", "a.b", "eve.99999999999.", "ä.1.ö"])
def test_tokens_of_others_are_refused(token: str) -> None:
    assert make_tokens().read(token) is None


def test_a_token_signed_with_another_secret_is_refused() -> None:
    assert make_tokens().read(make_tokens(secret="other").issue("ada")) is None
