"""Keep all changes of a request together: commit them at its end, undo them on an error."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

import svcs


class TransactionService:
    """A connection with a transaction open on it."""

    def __init__(self, *, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, *values: object) -> None:
        self._connection.execute(statement, values)


@contextmanager
def begin_transaction(
    svcs_container: svcs.Container,
) -> Generator[TransactionService, None, None]:
    connection = svcs_container.get(sqlite3.Connection)
    connection.execute("BEGIN")
    try:
        yield TransactionService(connection=connection)
    except BaseException:
        connection.rollback()
        raise
    else:
        connection.commit()


def register(registry: svcs.Registry, connection: sqlite3.Connection) -> None:
    registry.register_value(sqlite3.Connection, connection)
    # Without this the factory would not hear about errors, and commit every time.
    registry.register_factory(
        TransactionService, begin_transaction, suppress_context_exit=False
    )
