"""A writer that waited leaves nothing behind on its connection; no statement runs for ever."""

import gc
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import OperationalError, connection, transaction

from tests.api.test_outage import UNAVAILABLE
from tests.support import bodies
from tests.support.callers import Api
from tests.support.stored import stored

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="a server takes turns itself"),
]


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def locked() -> Iterator[threading.Event]:
    """Hold the write lock from another connection until the event is set."""
    holding, release = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                holding.set()
                assert release.wait(60)
        finally:
            connection.close()

    other = threading.Thread(target=hold)
    other.start()
    assert holding.wait(60)
    yield release
    release.set()
    other.join()


@pytest.mark.usefixtures("uncollected")
def test_no_statement_is_left_running_after_a_wait(
    locked: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = time.sleep

    def let_go(seconds: float) -> None:
        locked.set()
        pause(seconds)

    # The backend does this after a failed attempt. Nothing else releases the statement.
    monkeypatch.setattr(time, "sleep", let_go)
    with transaction.atomic():
        assert locked.is_set()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # refused while any statement of the connection is unfinished


COUNT = """
    WITH RECURSIVE counter (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter LIMIT {limit})
    SELECT count(*) AS number FROM counter
"""
ENDLESS = 20_000_000  # takes seconds


@pytest.fixture
def timeout(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """Let statements of new connections run for so many seconds."""

    def set_to(seconds: float) -> None:
        connection.close()
        monkeypatch.setitem(connection.settings_dict["OPTIONS"], "statement_timeout", seconds)

    yield set_to
    connection.close()


def count(limit: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(COUNT.format(limit=limit))
        assert cursor.fetchall() == [(limit,)]


def test_a_statement_that_takes_too_long_is_interrupted(timeout: Callable[[float], None]) -> None:
    timeout(0.05)
    started = time.monotonic()

    with pytest.raises(OperationalError, match="interrupted"):
        count(ENDLESS)

    assert time.monotonic() - started < 5
    count(10)  # the connection serves on


def test_each_statement_has_its_own_time(timeout: Callable[[float], None]) -> None:
    timeout(0.5)
    with transaction.atomic(), connection.cursor() as cursor:
        time.sleep(0.6)  # whoever works between statements is not cut short
        cursor.execute(COUNT.format(limit=20_000))
        assert cursor.fetchall() == [(20_000,)]


def test_no_timeout_is_no_limit(timeout: Callable[[float], None]) -> None:
    timeout(0)
    count(20_000)


def test_a_request_that_takes_too_long_is_an_outage_and_leaves_nothing(
    timeout: Callable[[float], None],
) -> None:
    timeout(0.05)
    before = stored()
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP VIEW endless AS {COUNT.format(limit=ENDLESS)}")
        cursor.execute(
            "CREATE TEMP TRIGGER slow AFTER INSERT ON carts_cartitemoption "
            "BEGIN SELECT number FROM endless; END"
        )

    response = Api().post("", bodies.cart(items=3, options=2), Idempotency_Key="key-1")

    assert (response.status_code, response.json()) == (503, UNAVAILABLE)
    assert response["Retry-After"] == "1"
    assert not connection.in_atomic_block
    assert stored() == before
    connection.close()  # the trigger is this connection's
    again = Api().post("", bodies.cart(items=3, options=2), Idempotency_Key="key-1")
    assert again.status_code == 200
    assert "Idempotent-Replayed" not in again
