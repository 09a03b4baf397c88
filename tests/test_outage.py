"""A database that cannot be reached, or a row that another holds too long: 503."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F
from pytest_django.live_server_helper import LiveServer

from carts.models import Cart, CartItem, IdempotencyRecord
from tests import payloads
from tests.conftest import PROFILE, Api, error, problems
from tests.factories import CartFactory
from tests.remote import Remote, at_once
from tests.steps import created, shown

pytestmark = pytest.mark.django_db(transaction=True)

UNAVAILABLE = error("unavailable", "The service cannot reach its data right now. Try again.")

# The contract's "within 4 seconds".
PATIENCE_SECONDS = 4


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """Return a context in which the database cannot be connected to."""

    @contextmanager
    def outage() -> Iterator[None]:
        connection.close()
        with monkeypatch.context() as patch:
            patch.setitem(connection.settings_dict, "NAME", "/nowhere/at/all")  # SQLite
            patch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
            patch.setitem(connection.settings_dict, "PORT", "1")
            yield
            connection.close()

    yield outage
    connection.close()


def test_an_unreachable_database_is_an_outage_and_not_an_error(
    unreachable: Callable[[], AbstractContextManager[None]],
) -> None:
    api = Api()
    cart_id = created(api)
    before = shown(api, cart_id)
    path = f"/{cart_id}/items/{before['items'][0]['itemId']}"

    with unreachable():
        for call in (
            partial(api.post, "", payloads.cart()),
            partial(api.post, "", payloads.cart(), Idempotency_Key="key-1"),
            partial(api.get, ""),
            partial(api.get, f"/{cart_id}"),
            partial(api.post, f"/{cart_id}/items", payloads.item()),
            partial(api.put, path, payloads.item()),
            partial(api.delete, path),
        ):
            started = time.monotonic()
            response = call()
            assert time.monotonic() - started < PATIENCE_SECONDS
            assert response.status_code == 503
            assert response.json() == UNAVAILABLE
            assert response["Retry-After"] == "1"
        # What needs no database is answered as ever.
        assert problems(api.post("", {})) != [("unavailable", None)]

    assert shown(api, cart_id) == before
    assert api.put(path, payloads.item()).status_code == 200


def test_a_database_that_only_reads_is_an_outage_for_writers() -> None:
    """What a primary becomes when another takes over from it."""
    api = Api()
    cart_id = created(api)
    before = shown(api, cart_id)
    on, off = (
        ("SET default_transaction_read_only = on", "RESET default_transaction_read_only")
        if connection.vendor == "postgresql"
        else ("PRAGMA query_only = on", "PRAGMA query_only = off")
    )

    with connection.cursor() as cursor:
        cursor.execute(on)
        try:
            response = api.post(f"/{cart_id}/items", payloads.item())
            assert shown(api, cart_id) == before
        finally:
            cursor.execute(off)

    assert response.status_code == 503
    assert response.json() == UNAVAILABLE
    assert response["Retry-After"] == "1"
    assert shown(api, cart_id) == before
    assert api.post(f"/{cart_id}/items", payloads.item()).status_code == 200


@contextmanager
def held(hold: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Keep a transaction open that has done `hold`; the value ends it, committed."""
    begun, end = threading.Event(), threading.Event()

    def run() -> None:
        try:
            with transaction.atomic():
                hold()
                begun.set()
                end.wait(10)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(5)

    def release() -> None:
        end.set()
        thread.join()

    try:
        yield release
    finally:
        release()


def test_a_cart_held_too_long_is_an_outage_for_its_writers_only(
    live_server: LiveServer,
) -> None:
    remote = Remote(live_server.url.removeprefix("http://"))
    mine = CartFactory(profile_key=PROFILE).pk
    other = CartFactory(profile_key=PROFILE).pk

    started = time.monotonic()
    with held(lambda: Cart.objects.filter(pk=mine).update(version=F("version") + 5)):
        reader, writer, elsewhere = at_once(
            [
                partial(remote.request, "GET", f"/{mine}"),
                partial(remote.request, "POST", f"/{mine}/items", payloads.item()),
                partial(remote.request, "POST", f"/{other}/items", payloads.item()),
            ]
        )
        assert time.monotonic() - started < PATIENCE_SECONDS

    assert (reader.status, reader.data["version"]) == (200, 1)
    assert (writer.status, writer.body) == (503, UNAVAILABLE)
    assert writer.headers["Retry-After"] == "1"
    # SQLite has one writer at a time, whatever it writes.
    assert elsewhere.status == (200 if connection.vendor == "postgresql" else 503)
    assert not CartItem.objects.filter(cart=mine).exists()
    assert remote.read(str(mine))["version"] == 6
    again = remote.request("POST", f"/{mine}/items", payloads.item())
    assert again.status == 200


@pytest.mark.parametrize(("version", "status"), [("*", 200), ('"1"', 412)])
def test_a_change_waits_for_the_one_before_it(
    live_server: LiveServer, version: str, status: int
) -> None:
    remote = Remote(live_server.url.removeprefix("http://"))
    cart_id = CartFactory(profile_key=PROFILE).pk

    with held(lambda: Cart.objects.filter(pk=cart_id).update(version=5)) as release:
        threading.Timer(0.3, release).start()
        answer = remote.request("POST", f"/{cart_id}/items", payloads.item(), If_Match=version)

    assert answer.status == status
    if status == 412:
        assert answer.body["message"] == "The cart has moved on: its version is now 5."
    assert remote.read(str(cart_id))["version"] == (6 if status == 200 else 5)


def test_a_twin_that_runs_too_long_is_told_so(live_server: LiveServer) -> None:
    remote = Remote(live_server.url.removeprefix("http://"))
    create = partial(remote.request, "POST", "", payloads.cart(), Idempotency_Key="key-1")
    twin = partial(
        IdempotencyRecord.objects.create, profile_key=PROFILE, key="key-1", fingerprint=b"x"
    )

    with held(twin):
        started = time.monotonic()
        answer = create()
        assert time.monotonic() - started < PATIENCE_SECONDS

    if connection.vendor == "postgresql":
        assert answer.status == 409
        assert answer.body == error(
            "request_in_progress",
            "A request with this Idempotency-Key is still running.",
            "Idempotency-Key",
        )
    else:  # which cannot tell a twin from any other writer
        assert (answer.status, answer.body) == (503, UNAVAILABLE)
    assert not Cart.objects.exists()
    assert create().status == 422  # the twin has committed another request by now
