import sqlite3

import pytest
import svcs

from database_service import DatabaseService, register
from settings_service import SettingsService


def make_registry() -> svcs.Registry:
    registry = svcs.Registry()
    settings = SettingsService(database_path=":memory:", secret="")
    registry.register_value(SettingsService, settings)
    register(registry)
    return registry


def test_statements_run_on_one_connection() -> None:
    with svcs.Container(make_registry()) as container:
        database = container.get(DatabaseService)
        database.execute("CREATE TABLE teas (name TEXT)")
        assert database.execute("INSERT INTO teas VALUES (?)", "Assam") == 1
        assert database.fetch("SELECT name FROM teas") == [("Assam",)]
        assert container.get(DatabaseService) is database


def test_the_connection_is_closed_with_the_container() -> None:
    with svcs.Container(make_registry()) as container:
        database = container.get(DatabaseService)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        database.fetch("SELECT 1")
