"""What the backend adds: one send an exchange; ended and late connections are replaced."""

import math
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from contextvars import copy_context
from time import monotonic
from typing import Any

import pytest
from django.conf import settings
from django.db import (
    DataError,
    OperationalError,
    close_old_connections,
    connection,
    connections,
    transaction,
)
from psycopg.pq import PipelineStatus, TransactionStatus

from cartsvc.db import time_limits
from cartsvc.db.time_limits import deadline
from tests.support.factories import CartFactory
from tests.support.programs import wait_until
from tests.support.table_contents import Unchanged

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
    monkeypatch.setattr(time_limits, "REQUEST_SECONDS", 0.5)
    yield
    connection.close()


def statement() -> None:
    connection.cursor().execute("SELECT pg_sleep(60)")


def pipeline() -> None:
    with connection.wrap_database_errors, connection.exchange(commit=False):
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


Statement = tuple[str, Sequence[object]]

# More than the buffers of both ends of a socket hold.
LARGE = 20_000_000
SENT: Statement = ("SELECT length(%s::text)", ["x" * LARGE])
ANSWERED: Statement = (f"SELECT repeat('x', {LARGE})", [])
SLEEP: Statement = ("SELECT pg_sleep(60)", [])
KILL: Statement = ("SELECT pg_terminate_backend(pg_backend_pid())", [])
DELETE: Statement = ("DELETE FROM carts_cart", [])


def exchanged(*statements: Statement) -> list[Any]:
    """Return the first row of each of the statements, which one transaction sends at once."""
    cursors = [connection.cursor() for _ in statements]
    with transaction.atomic(), connection.wrap_database_errors, connection.exchange(commit=False):
        for cursor, (sql, values) in zip(cursors, statements, strict=True):
            cursor.execute(sql, values)
    return [cursor.fetchone() for cursor in cursors if cursor.description]


def assert_usable() -> None:
    assert exchanged(("SELECT %s::int", [1]), ("SELECT %s::int", [2])) == [(1,), (2,)]
    server = connection.connection
    assert server.info.transaction_status == TransactionStatus.IDLE
    assert server.info.pipeline_status == PipelineStatus.OFF


def test_more_than_the_socket_holds_goes_both_ways_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A busy machine may not read for longer than the service lets data wait in the socket.
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "tcp_user_timeout", 60_000)
    connection.close()
    context = copy_context()
    context.run(deadline.set, monotonic() + 60)  # rather than for ever
    answers = context.run(exchanged, ANSWERED, SENT, ANSWERED, SENT, SENT)
    assert [len(row[0]) if isinstance(row[0], str) else row[0] for row in answers] == [LARGE] * 5
    assert_usable()
    connection.close()


def test_nothing_waits_where_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait takes a lock and looks at the clock. Ours override what psycopg would wait for."""
    connection.ensure_connection()
    server = connection.connection
    monkeypatch.setattr(server, "wait", None)

    server.autocommit = not server.autocommit
    server.autocommit = not server.autocommit
    server.commit()
    connection.exchange(commit=False).__enter__()

    server.close()
    connection.close()


def test_rows_that_are_fetched_within_an_exchange_are_sent_for() -> None:
    with connection.cursor() as cursor, connection.exchange(commit=False):
        for number in 1, 2:
            cursor.execute("SELECT %s::int", [number])
            assert cursor.fetchone() == (number,)
    assert_usable()


@pytest.mark.parametrize("times", [1, 8], ids=["parsed each time", "prepared"])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_error_is_that_of_the_statement_which_failed(
    unchanged: Unchanged, position: int, times: int
) -> None:
    """Those after it are not run, and those before it are undone."""
    CartFactory()
    unchanged()
    statements = [DELETE, DELETE]
    statements.insert(position, ("SELECT 1 / %s::int", [0]))
    for _ in range(times):
        with pytest.raises(DataError, match="division by zero"):
            exchanged(*statements)
        assert_usable()


def test_what_cannot_be_sent_undoes_what_was_to_go_with_it(unchanged: Unchanged) -> None:
    CartFactory()
    unchanged()
    with pytest.raises(DataError, match="NUL"):
        exchanged(DELETE, ("SELECT %s::text", ["\0"]))
    assert_usable()


@pytest.mark.parametrize(
    "statements",
    [(KILL, SENT, SENT), (ANSWERED, KILL, DELETE), (DELETE, KILL)],
    ids=["while it is sent", "between two answers", "at the end"],
)
def test_a_server_that_is_killed(unchanged: Unchanged, statements: Sequence[Statement]) -> None:
    CartFactory()
    unchanged()
    with pytest.raises(OperationalError):
        exchanged(*statements)
    assert_usable()


@of_one_session  # whose locks the test ends
@pytest.mark.parametrize(
    "statements",
    [(DELETE, SLEEP, SENT, SENT), (SLEEP, DELETE), (DELETE, ANSWERED, SLEEP, DELETE)],
    ids=["while it is sent", "before the answer", "between two answers"],
)
def test_a_server_that_does_not_answer_in_time(
    hurried: None, unchanged: Unchanged, statements: Sequence[Statement]
) -> None:
    CartFactory()
    unchanged()
    first = backend()  # without a deadline, which a busy machine might exceed

    def request() -> None:
        deadline.set(None)
        with pytest.raises(OperationalError, match="time is up"):  # to connect anew
            exchanged(*statements)

    copy_context().run(request)
    end(first)  # it sleeps on
    assert_usable()
