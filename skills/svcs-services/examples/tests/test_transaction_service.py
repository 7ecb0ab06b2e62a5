import sqlite3
from collections.abc import Iterator

import pytest
import svcs

from transaction_service import TransactionService, register


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE teas (name TEXT)")
    yield connection
    connection.close()


def add_tea(connection: sqlite3.Connection, *, then_fail: bool) -> None:
    registry = svcs.Registry()
    register(registry, connection)
    with svcs.Container(registry) as container:
        transaction = container.get(TransactionService)
        transaction.execute("INSERT INTO teas VALUES (?)", "Assam")
        if then_fail:
            raise RuntimeError("out of tea")


def test_a_request_that_ends_well_is_committed(connection: sqlite3.Connection) -> None:
    add_tea(connection, then_fail=False)
    assert connection.in_transaction is False
    assert connection.execute("SELECT name FROM teas").fetchall() == [("Assam",)]


def test_a_request_that_fails_is_undone(connection: sqlite3.Connection) -> None:
    with pytest.raises(RuntimeError, match="out of tea"):
        add_tea(connection, then_fail=True)
    assert connection.in_transaction is False
    assert connection.execute("SELECT name FROM teas").fetchall() == []
