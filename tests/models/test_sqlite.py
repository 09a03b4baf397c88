"""A writer that waited for another leaves nothing behind on its connection."""

import gc
import threading
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
    """Another writer: holds the lock until the event is set."""
    holding, release = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                holding.set()
                assert release.wait(10)
        finally:
            connection.close()

    other = threading.Thread(target=hold)
    other.start()
    assert holding.wait(10)
    yield release
    release.set()
    other.join()


@pytest.mark.usefixtures("uncollected")
def test_no_statement_is_left_running_after_a_wait(locked: threading.Event) -> None:
    soon = threading.Timer(0.05, locked.set)
    soon.start()
    with transaction.atomic():
        assert locked.is_set()  # so there was a wait, with attempts that failed
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # refused while any statement of the connection is unfinished
