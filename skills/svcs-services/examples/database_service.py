"""Open one database connection per request and close it when the request ends."""

import sqlite3
from collections.abc import Iterator, Sequence

import svcs

from settings_service import SettingsService


class DatabaseService:
    """Runs statements on one connection."""

    def __init__(self, *, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def fetch(self, query: str, *values: object) -> Sequence[tuple]:
        return self._connection.execute(query, values).fetchall()

    def execute(self, statement: str, *values: object) -> int:
        """The number of rows that changed."""
        with self._connection:
            return self._connection.execute(statement, values).rowcount


def create_database(svcs_container: svcs.Container) -> Iterator[DatabaseService]:
    """The container goes on after the `yield` when it is closed."""
    settings = svcs_container.get(SettingsService)
    connection = sqlite3.connect(settings.database_path)
    try:
        yield DatabaseService(connection=connection)
    finally:
        connection.close()


def register(registry: svcs.Registry) -> None:
    registry.register_factory(DatabaseService, create_database)
