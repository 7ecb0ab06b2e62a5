"""Look up and add users in the database."""

from dataclasses import dataclass

import svcs

from database_service import DatabaseService


@dataclass(frozen=True)
class User:
    """Somebody who may log in."""

    name: str
    email: str


class UserDirectoryService:
    """All users, by their name."""

    def __init__(self, *, database: DatabaseService) -> None:
        self._database = database

    def create_table(self) -> None:
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, email TEXT)"
        )

    def add(self, user: User) -> None:
        self._database.execute("INSERT INTO users VALUES (?, ?)", user.name, user.email)

    def find(self, name: str) -> User | None:
        query = "SELECT name, email FROM users WHERE name = ?"
        rows = self._database.fetch(query, name)
        return User(*rows[0]) if rows else None


def create_user_directory(svcs_container: svcs.Container) -> UserDirectoryService:
    return UserDirectoryService(database=svcs_container.get(DatabaseService))


def register(registry: svcs.Registry) -> None:
    registry.register_factory(UserDirectoryService, create_user_directory)
