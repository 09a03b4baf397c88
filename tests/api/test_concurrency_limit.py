"""What one bearer may hold of a process, and that it is no other's matter."""

import json
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from threading import Condition
from urllib.parse import urlsplit

import pytest
from django.db import connection
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from carts.models import Cart
from cartsvc import concurrency_limit
from cartsvc.concurrency_limit import COMPUTING, RECEIVING, WAITING
from tests.api.clock import Clock
from tests.support import bodies
from tests.support.answers import assert_refused
from tests.support.callers import PROFILE, STRANGER, Api, HttpApi
from tests.support.carts import created_with_items
from tests.support.concurrency import open_transaction, waiting_for_a_lock
from tests.support.programs import wait_until
from tests.support.table_contents import Unchanged

pytestmark = pytest.mark.django_db(transaction=True)

Bearers = Callable[..., HttpApi]


@pytest.fixture
def bearer(live_server: LiveServer) -> Bearers:
    return lambda name, profile=PROFILE: HttpApi(
        live_server.url, profile, kept=False, sub=name, profileKey=str(profile)
    )


@pytest.fixture
def long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a slow machine take its time."""
    options = connection.settings_dict["OPTIONS"]
    if "options" in options:  # of the server's new connections to PostgreSQL
        longer = f"{options['options']} -c lock_timeout=60000"
        monkeypatch.setitem(options, "options", longer)
    for limit in (RECEIVING, COMPUTING, WAITING):
        monkeypatch.setattr(limit, "seconds", 60)


@contextmanager
def stalled(caller: HttpApi, length: int = 1000) -> Iterator[HTTPConnection]:
    """Send a head, and none of the body that it announces."""
    address = urlsplit(caller.base)
    with closing(HTTPConnection(address.netloc, timeout=60)) as connection:
        connection.putrequest("POST", address.path)
        connection.putheader("Authorization", f"Bearer {caller.token}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(length))
        connection.endheaders()
        yield connection


def status_of(caller: HttpApi) -> int:
    return int(caller.post("", {"partnerKey": 5}).status_code)


def test_a_bearer_whose_bodies_stand_still_waits_alone(
    bearer: Bearers, settings: Settings, caplog: pytest.LogCaptureFixture, unchanged: Unchanged
) -> None:
    anna = bearer("anna")
    others = bearer("ben"), bearer("anna", STRANGER)
    caplog.set_level(logging.INFO)
    with ExitStack() as stack:
        for _ in range(settings.THREADS // 2):
            stack.enter_context(stalled(anna))
        wait_until(lambda: status_of(anna) == 503)
        caplog.clear()

        refused = anna.post("", bodies.cart())

        text = "Too many requests have come at once. Try again."
        assert_refused(refused, 503, "unavailable", text)
        assert refused.headers["Retry-After"] == "1"
        assert [record.levelname for record in caplog.records] == ["INFO"]
        # Neither a body of hers that does not arrive: it is refused before.
        with stalled(anna) as one_more:
            assert one_more.getresponse().status == 503
        assert anna.get().status_code == 200
        assert [status_of(other) for other in others] == [400, 400]
    wait_until(lambda: status_of(anna) == 400)


def test_all_bodies_that_stand_still_leave_a_thread(
    bearer: Bearers, settings: Settings, unchanged: Unchanged
) -> None:
    with ExitStack() as stack:
        for number in range(settings.THREADS - 1):
            stack.enter_context(stalled(bearer(f"bearer {number}")))
        wait_until(lambda: status_of(bearer("anna")) == 503)
        with stalled(bearer("ben")) as one_more:
            assert one_more.getresponse().status == 503
        assert bearer("ben").get().status_code == 200
    wait_until(lambda: status_of(bearer("anna")) == 400)


LARGE = json.dumps(bodies.cart(items=50, options=10))


def test_large_carts_of_one_bearer_wait_for_each_other(bearer: Bearers, long_waits: None) -> None:
    anna, ben = bearer("anna"), bearer("ben")
    with ThreadPoolExecutor(8) as pool:
        hers = [pool.submit(anna.post, "", LARGE) for _ in range(24)]
        his = [ben.post("", bodies.bare_cart()).status_code for _ in range(10)]
        assert [answer.result().status_code for answer in hers] == [200] * 24
    assert his == [200] * 10
    assert Cart.objects.count() == 34


@pytest.mark.skipif(connection.vendor == "sqlite", reason="a read waits for nothing")
def test_a_bearer_has_one_list_by_change_at_a_time(
    bearer: Bearers, long_waits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(COMPUTING, "seconds", 0.1)
    anna, lock = bearer("anna"), "LOCK TABLE carts_cart IN ACCESS EXCLUSIVE MODE"
    with (
        ThreadPoolExecutor(1) as pool,
        open_transaction(lambda: connection.cursor().execute(lock)) as release,
    ):
        first = pool.submit(anna.get, "?sort=modified")
        wait_until(lambda: waiting_for_a_lock() == 1)
        assert anna.get("?sort=modified").status_code == 503
        release()
        assert first.result().status_code == 200


@pytest.mark.skipif(connection.vendor == "sqlite", reason="a write holds the whole file")
def test_a_held_cart_holds_up_no_other_body(
    bearer: Bearers, settings: Settings, long_waits: None
) -> None:
    # With one more, all her seats for changes would be taken.
    held_up = settings.THREADS - 2
    anna = bearer("anna")
    cart_id, [item_id] = created_with_items(anna, "Calzone")
    item = json.dumps(bodies.item()) + " " * 100_000
    with (
        ThreadPoolExecutor(held_up) as pool,
        open_transaction(lambda: Cart.objects.select_for_update().get(pk=cart_id)) as release,
    ):
        path = f"/{cart_id}/items/{item_id}"
        waiting = [pool.submit(anna.put, path, item) for _ in range(held_up)]
        wait_until(lambda: waiting_for_a_lock() == held_up)
        for name in ("anna", "ben"):
            assert bearer(name).post("", LARGE + " " * 100_000).status_code == 200
        release()
        assert [answer.result().status_code for answer in waiting] == [200] * held_up


def test_all_who_wait_for_the_database_leave_a_thread(
    bearer: Bearers, settings: Settings, unchanged: Unchanged
) -> None:
    """The server has a thread beside these: it refuses, and answers what needs no database."""
    anna = bearer("anna")
    with ExitStack() as stack:
        for number in range(settings.THREADS):
            stack.enter_context(WAITING.seat_for(f"bearer {number}"))
        answers = [anna.get(), anna.get(f"/{PROFILE}"), anna.post("", bodies.cart())]
        assert status_of(anna) == 400
    text = "Too many requests have come at once. Try again."
    for answer in answers:
        assert_refused(answer, 503, "unavailable", text)
    assert anna.get().status_code == 200


def test_a_bearer_whose_changes_wait_can_read_and_others_can_change(
    bearer: Bearers, settings: Settings
) -> None:
    anna = bearer("anna")
    with ExitStack() as stack:
        for _ in range(settings.THREADS - 1):
            stack.enter_context(WAITING.seat_for(("anna", PROFILE)))
        refused = anna.post("", bodies.cart())
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert anna.get().json()["data"]["carts"] == []
        assert bearer("ben").post("", bodies.cart()).status_code == 200
    assert Cart.objects.count() == 1


def test_nobody_waits_longer_than_a_second_nor_where_nothing_moves(
    db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings, unchanged: Unchanged
) -> None:
    """A second after the caller came, or after the last seat was taken: what is earlier."""
    clock, waited = Clock(), list[float]()
    monkeypatch.setattr(concurrency_limit, "monotonic", clock)
    anna = Api(sub="anna", profileKey=str(PROFILE))
    with ExitStack() as stack:
        for _ in range(settings.THREADS - 1):
            seat = stack.enter_context(ExitStack())
            seat.enter_context(WAITING.seat_for(("anna", PROFILE)))

        def wait(_: object, seconds: float) -> None:
            waited.append(seconds)
            assert len(waited) < 9
            clock.now += 0.75
            with seat.pop_all():  # somebody else of hers is faster
                pass
            seat.enter_context(WAITING.seat_for(("anna", PROFILE)))

        monkeypatch.setattr(Condition, "wait", wait)
        assert anna.post("", bodies.cart()).status_code == 503
        assert waited == pytest.approx([1, 0.25])
        waited.clear()
        clock.now += 1
        assert anna.post("", bodies.cart()).status_code == 503
        assert waited == []


def test_a_body_that_will_be_too_large_is_not_awaited(
    http_api: HttpApi, settings: Settings
) -> None:
    with stalled(http_api, settings.MAX_BODY_BYTES + 1) as connection:
        assert connection.getresponse().status == 413
