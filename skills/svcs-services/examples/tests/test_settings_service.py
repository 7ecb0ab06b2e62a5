import pytest
import svcs

from settings_service import SettingsService, register

ENVIRONMENT = {"APP_DATABASE": ":memory:", "APP_SECRET": "s3cret"}


def test_settings_come_from_the_environment() -> None:
    registry = svcs.Registry()
    register(registry, {**ENVIRONMENT, "APP_PAGE_SIZE": "50"})
    settings = svcs.Container(registry).get(SettingsService)
    assert settings == SettingsService(
        database_path=":memory:", secret="s3cret", page_size=50
    )


def test_a_missing_setting_is_noticed_at_once() -> None:
    with pytest.raises(KeyError, match="APP_SECRET"):
        register(svcs.Registry(), {"APP_DATABASE": ":memory:"})
