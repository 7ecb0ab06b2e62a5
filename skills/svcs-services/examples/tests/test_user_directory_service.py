from collections.abc import Iterator

import pytest
import svcs

import database_service
import user_directory_service
from settings_service import SettingsService
from user_directory_service import User, UserDirectoryService


@pytest.fixture
def directory() -> Iterator[UserDirectoryService]:
    registry = svcs.Registry()
    settings = SettingsService(database_path=":memory:", secret="")
    registry.register_value(SettingsService, settings)
    database_service.register(registry)
    user_directory_service.register(registry)
    with svcs.Container(registry) as container:
        directory = container.get(UserDirectoryService)
        directory.create_table()
        yield directory


def test_users_are_found_by_name(directory: UserDirectoryService) -> None:
    ada = User("ada", "ada@example.com")
    directory.add(ada)
    assert directory.find("ada") == ada


def test_nobody_is_found_under_a_hostile_name(directory: UserDirectoryService) -> None:
    directory.add(User("ada", "ada@example.com"))
    assert directory.find("' OR '1'='1") is None
