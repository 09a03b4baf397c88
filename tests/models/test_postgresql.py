"""What the backend adds: ended and late connections are replaced."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from contextvars import copy_context
from time import monotonic

import pytest
from django.conf import settings
from django.db import OperationalError, close_old_connections, connection, connections

from carts.models import Cart
from cartsvc.db.compiled_statements import one_exchange
from cartsvc.db.postgresql import base
from cartsvc.db.postgresql.base import deadline
from tests.desk.conftest import CARTS, staff
from tests.support.callers import PROFILE, Api
from tests.support.carts import created

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
    """Terminate a connection's backend from another connection, and wait until it has ended."""
    with closing(connections.create_connection("default")) as other, other.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid = %s", [pid]
        )
        assert cursor.fetchone() in {None, (True,)}


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


@of_one_session
@pytest.mark.parametrize(
    ("path", "first"),
    [("/v2.0/customers/{}/carts", 200), ("/v2.0/customers/{}/carts/{}", 200), (CARTS, 503)],
)
def test_a_changed_column_costs_one_answer_at_most(api: Api, path: str, first: int) -> None:
    """The connection has prepared its statements for the column as it was.

    What the API reads is the database's text, whatever the columns' types.
    """
    path = path.format(PROFILE, created(api))
    client = api.client if path != CARTS else staff("Cart support")
    client.raise_request_exception = False

    def statuses(times: int) -> list[int]:
        found = []
        for _ in range(times):
            close_old_connections()  # every request begins with this
            found.append(client.get(path).status_code)
        return found

    assert statuses(10) == [200] * 10
    with column_type("varchar(301)"):
        assert statuses(5) == [first, 200, 200, 200, 200]


@contextmanager
def column_type(changed: str) -> Iterator[None]:
    """Change the type of the carts' notes, over another connection, until the block ends."""
    before = Cart._meta.get_field("note").db_type(connection)
    with closing(connections.create_connection("default")) as other, other.cursor() as cursor:
        cursor.execute(f"ALTER TABLE carts_cart ALTER note TYPE {changed}")
        try:
            yield
        finally:
            cursor.execute(f"ALTER TABLE carts_cart ALTER note TYPE {before}")


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
        deadline.set(None)
        first = backend()
        with pytest.raises(OperationalError, match="timeout"):
            wait()
        assert not connection.is_usable()
        close_old_connections()
        deadline.set(None)
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
