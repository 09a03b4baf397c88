"""What the backend adds: ended and late connections are replaced."""

import math
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from contextvars import copy_context
from time import monotonic

import pytest
from django.conf import settings
from django.db import OperationalError, close_old_connections, connection, connections

from cartsvc.db.compiled_statements import one_exchange
from cartsvc.db.postgresql import base
from cartsvc.db.postgresql.base import deadline
from tests.support.programs import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is no server"),
]


of_one_session = pytest.mark.skipif(
    bool(settings.DATABASE_ADMIN_URL), reason="a pooler lends another session to each transaction"
)


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def end(pid: int) -> None:
    """Terminate a connection's backend, if it has not just ended, and wait until it is gone."""
    with closing(connections.create_connection("default")) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s::int)", [pid])

        def is_gone() -> bool:
            cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid])
            return cursor.fetchone() is None

        wait_until(is_gone)


@of_one_session
def test_an_open_connection_is_kept_and_an_ended_one_replaced_before_it_is_used() -> None:
    connection.close()  # the test's own may be older than CONN_MAX_AGE, which would also close it
    first = backend()
    assert connection.is_usable()
    close_old_connections()  # every request begins with this
    assert backend() == first
    end(first)
    assert not connection.is_usable()
    close_old_connections()
    assert backend() != first


@pytest.mark.skipif(
    not settings.DATABASES["default"]["HOST"][:1].isalnum(), reason="a socket has no other end"
)
def test_a_server_that_is_lost_is_noticed_while_nobody_asks_it() -> None:
    connection.ensure_connection()
    # Seconds until it is asked whether it is there, and between two attempts; their number.
    options = socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT
    with socket.socket(fileno=os.dup(connection.connection.fileno())) as used:
        kept = [used.getsockopt(socket.IPPROTO_TCP, option) for option in options]
    assert kept == [5, 1, 3]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Allow a request half a second."""
    connection.close()
    monkeypatch.setattr(base, "REQUEST_SECONDS", 0.5)
    yield
    connection.close()


def statement() -> None:
    connection.cursor().execute("SELECT pg_sleep(60)")


def pipeline() -> None:
    with connection.cursor() as cursor, one_exchange(cursor):
        statement()


def many_statements() -> None:
    for _ in range(100):
        connection.cursor().execute("SELECT pg_sleep(0.1)")


@pytest.mark.parametrize("wait", [statement, pipeline, many_statements])
def test_a_request_waits_no_longer_than_it_may(hurried: None, wait: Callable[[], None]) -> None:
    def request() -> None:
        first = backend()  # without a deadline, which a busy machine might exceed
        deadline.set(None)
        with pytest.raises(OperationalError, match="timeout"):
            wait()
        assert not connection.is_usable()
        close_old_connections()
        deadline.set(math.inf)
        assert backend() != first
        end(first)  # it sleeps on

    copy_context().run(request)


def test_nobody_connects_when_the_request_s_time_is_up() -> None:
    connection.close()  # as the framework finds it when a change has got no answer
    context = copy_context()
    context.run(deadline.set, monotonic())
    with pytest.raises(OperationalError, match="time is up"):
        context.run(connection.ensure_connection)


def test_what_is_no_request_waits_as_long_as_it_takes(hurried: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.7)")
