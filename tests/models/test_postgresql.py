"""What the backend adds: ended connections are replaced, moments are read in C."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, close_old_connections, connection, connections
from django.db.backends.postgresql.base import TIMESTAMPTZ_OID
from psycopg import adapters
from psycopg.pq import Format

from cartsvc.db.postgresql.base import TimestampLoader

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is no server"),
]


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def end(pid: int) -> None:
    """Terminate a connection's backend from another connection, and wait until it has ended."""
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
            assert cursor.fetchone() == (True,)
    finally:
        other.close()


def test_an_open_connection_is_kept() -> None:
    connection.close()  # the test's own may be older than CONN_MAX_AGE, which would also close it
    first = backend()
    assert connection.is_usable()
    close_old_connections()  # every request begins with this
    assert backend() == first


def test_an_ended_connection_is_replaced_before_it_is_used() -> None:
    first = backend()
    end(first)
    assert not connection.is_usable()
    close_old_connections()
    assert backend() != first


def test_a_connection_that_failed_in_use_is_replaced() -> None:
    first = backend()
    end(first)
    with pytest.raises(OperationalError):
        backend()
    assert not connection.is_usable()
    close_old_connections()
    assert backend() != first


def test_a_closed_connection_is_not_usable() -> None:
    connection.ensure_connection()
    connection.connection.close()
    assert not connection.is_usable()
    connection.close()
    assert not connection.is_usable()


def test_moments_are_read_by_the_drivers_own_loader() -> None:
    """The framework replaces the loader for a cursor when it does not know its time zone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT '2026-02-03 04:05:06.789+02'::timestamptz")
        [[moment]] = cursor.fetchall()
        loader = cursor.connection.adapters.get_loader(TIMESTAMPTZ_OID, Format.TEXT)
        assert cursor.cursor.adapters.get_loader(TIMESTAMPTZ_OID, Format.TEXT) is loader

    assert loader is TimestampLoader
    load: Any = loader(TIMESTAMPTZ_OID, connection.connection).load
    assert type(load.__self__) is adapters.get_loader(TIMESTAMPTZ_OID, Format.TEXT)
    assert moment == datetime(2026, 2, 3, 2, 5, 6, 789000, UTC)
    assert moment.utcoffset() == timedelta(0)
