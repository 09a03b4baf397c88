"""One large request at a time is worked on in a process; so many wait, and more are refused."""

import json
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from pytest_django import Settings

from carts.models import Cart
from carts.models.manager import CartManager
from cartsvc.api import turns
from tests.support import bodies
from tests.support.answers import error
from tests.support.callers import HttpApi
from tests.support.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a slow machine take its time."""
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 60)


LARGE = json.dumps(bodies.cart()) + " " * turns.LARGE_BYTES
BUSY = error("unavailable", "Too many large requests have come at once. Try again.")


class Held:
    """Calls that are held until they may go on, and how many there are."""

    def __init__(self) -> None:
        self.under_way = self.most = 0
        self.may_go_on = threading.Event()

    def call(self, function: Callable[..., Cart], *args: Any, **values: Any) -> Cart:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        assert self.may_go_on.wait(60)
        try:
            return function(*args, **values)
        finally:
            self.under_way -= 1

    def __enter__(self) -> None:
        """Let them go on at the end of the block, whatever happens in it."""

    def __exit__(self, *_: object) -> None:
        self.may_go_on.set()


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Held:
    held, write = Held(), CartManager.create_with_items
    monkeypatch.setattr(
        CartManager,
        "create_with_items",
        lambda *args, **values: held.call(write, *args, **values),
    )
    return held


def waiting() -> int:
    """Return how many threads have a place, the one that works included."""
    places: Any = turns._places
    return int(places._initial_value - places._value)


def answer_to_half(caller: HttpApi, length: int = len(LARGE)) -> int:
    """Return the status that a large body gets of which the rest does not arrive."""
    address = urlsplit(caller.base)
    with closing(HTTPConnection(address.netloc, timeout=10)) as connection:
        connection.putrequest("POST", address.path)
        connection.putheader("Authorization", f"Bearer {caller.token}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(length))
        connection.endheaders(LARGE[:100].encode())
        return connection.getresponse().status


def test_large_bodies_take_turns(http_api: HttpApi, writes: Held, settings: Settings) -> None:
    places = settings.THREADS - 1
    with ThreadPoolExecutor(places) as pool, writes:
        answers = [pool.submit(http_api.post, "", LARGE) for _ in range(places)]
        wait_until(lambda: waiting() == places and writes.under_way == 1, 10)

        refused = http_api.post("", LARGE)
        assert (refused.status_code, refused.json()) == (503, BUSY)
        assert refused.headers["Retry-After"] == "1"
        # Nor is a body read that will be refused: half of it is enough.
        assert answer_to_half(http_api) == 503
        # Whoever sends little waits for nobody.
        assert http_api.get().status_code == 200
        assert http_api.post("", {"partnerKey": 5}).status_code == 400

        writes.may_go_on.set()
        assert [answer.result().status_code for answer in answers] == [200] * places
    assert writes.most == 1
    assert waiting() == 0
    assert Cart.objects.count() == places


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (LARGE, 200),
        ("{" + LARGE, 400),
        (json.dumps({"items": [5] * 50_000}), 400),
    ],
    ids=["taken", "no JSON", "refused"],
)
def test_a_turn_ends_with_its_request(http_api: HttpApi, body: str, status: int) -> None:
    for _ in range(5):
        assert http_api.post("", body).status_code == status
    assert waiting() == 0
    assert not turns._turn.locked()


def test_a_stranger_takes_no_place(http_api: HttpApi, writes: Held, settings: Settings) -> None:
    places = settings.THREADS - 1
    with ThreadPoolExecutor(places) as pool, writes:
        answers = [pool.submit(http_api.post, "", LARGE) for _ in range(places)]
        wait_until(lambda: waiting() == places, 10)

        refused = http_api.post("", LARGE, Authorization="Bearer none")
        assert refused.status_code == 401

        writes.may_go_on.set()
        assert [answer.result().status_code for answer in answers] == [200] * places


# A cart of just over as many items and options as are large.
MANY = bodies.cart(items=10, options=turns.LARGE_OBJECTS // 10)


def test_a_body_that_will_be_too_large_is_not_read(http_api: HttpApi, settings: Settings) -> None:
    assert answer_to_half(http_api, settings.MAX_BODY_BYTES + 1) == 413


def test_nobody_waits_for_long(
    http_api: HttpApi, monkeypatch: pytest.MonkeyPatch, unchanged: Callable[[], None]
) -> None:
    large = created(http_api, MANY)
    assert http_api.get(f"/{large}").status_code == 200
    unchanged()
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.05)
    with turns._turn:
        for refused in (http_api.post("", LARGE), http_api.get(f"/{large}")):
            assert (refused.status_code, refused.json()) == (503, BUSY)
    assert waiting() == 0
    assert http_api.get(f"/{large}").status_code == 200


def created(caller: HttpApi, body: Any) -> uuid.UUID:
    return uuid.UUID(caller.post("", body).json()["data"]["cartId"])


def test_reads_of_large_carts_take_turns(
    http_api: HttpApi, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    places, held, find = settings.THREADS - 1, Held(), CartManager.find
    large, small = created(http_api, MANY), created(http_api, bodies.cart())
    seen = http_api.get(f"/{large}").json()

    def wait(carts: CartManager, cart_id: uuid.UUID) -> Cart | None:
        return held.call(find, carts, cart_id) if cart_id == large else find(carts, cart_id)

    monkeypatch.setattr(CartManager, "find", wait)
    with ThreadPoolExecutor(places) as pool, held:
        answers = [pool.submit(http_api.get, f"/{large}") for _ in range(places)]
        wait_until(lambda: waiting() == places and held.under_way == 1, 10)

        refused = http_api.get(f"/{large}")  # before anything is read, or it would wait
        assert (refused.status_code, refused.json()) == (503, BUSY)
        assert refused.headers["Retry-After"] == "1"
        assert http_api.get(f"/{small}").status_code == 200
        # A large body takes the same turns.
        assert http_api.post("", LARGE).status_code == 503

        held.may_go_on.set()
        assert [answer.result().json() for answer in answers] == [seen] * places
    assert held.most == 1
    assert waiting() == 0
    assert Cart.objects.count() == 2


def test_a_cart_that_is_small_again_waits_for_nobody(http_api: HttpApi) -> None:
    cart_id = created(http_api, MANY)
    items = http_api.get(f"/{cart_id}").json()["data"]["items"]
    assert cart_id in turns._large
    assert http_api.delete(f"/{cart_id}/items/{items[0]['itemId']}").status_code == 200
    assert http_api.get(f"/{cart_id}").status_code == 200
    assert cart_id not in turns._large


def test_so_many_large_carts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_large", {})
    monkeypatch.setattr(turns, "MOST_REMEMBERED", 2)
    for key in ("a", "b", "c"):
        turns.take_turn_of_read(key, turns.LARGE_OBJECTS + 1)
        turns.end()
    assert list(turns._large) == ["b", "c"]
