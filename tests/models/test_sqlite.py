"""A writer waits for its turn, and leaves nothing behind on its connection."""

import gc
import random
import time
from collections.abc import Iterator

import pytest
from django.db import connection, transaction

from cartsvc.db.sqlite.base import FIRST_WAIT_SECONDS, LAST_WAIT_SECONDS
from tests.support.concurrency import open_transaction

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="a server takes turns itself"),
]


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_no_statement_is_left_running_after_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_transaction(lambda: None) as release:
        # The backend does this after a failed attempt. Nothing else ends the other transaction.
        monkeypatch.setattr(time, "sleep", lambda _: release())
        with transaction.atomic():
            pass
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # refused while any statement of the connection is unfinished


def test_who_has_waited_longer_asks_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = list[float]()
    with open_transaction(lambda: None) as release:

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 20:
                release()

        monkeypatch.setattr(time, "sleep", sleep)
        monkeypatch.setattr(random, "random", lambda: 0)
        with transaction.atomic():
            pass
    assert waits == sorted(waits, reverse=True)
    assert (waits[0], waits[-1]) == (FIRST_WAIT_SECONDS, LAST_WAIT_SECONDS)
