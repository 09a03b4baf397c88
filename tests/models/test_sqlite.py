"""A writer that waited leaves nothing behind on its connection."""

import gc
import threading
import time
from collections.abc import Iterator

import pytest
from django.db import connection, transaction

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
