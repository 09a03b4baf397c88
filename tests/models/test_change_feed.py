"""No change is skipped, whatever the interleaving.

Writers stand still between decision and commit, by clocks that differ, while a reader polls.
"""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from threading import Event, local
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.cart_errors import CartNotFound
from carts.models import Cart, CartChange, DeletedCart, change_feed, manager
from carts.models.change_feed import OLDEST, ListedChange, changes_after
from carts.models.reads import PageCursor
from tests.support.concurrency import open_transaction, together
from tests.support.factories import CartFactory, new_cart

pytestmark = pytest.mark.django_db(transaction=True)

NEW = new_cart()
WRITERS, SECONDS = 5, 5.0
# How far the clocks differ, and a request's time, in seconds: short, so that the test is.
CLOCKS, REQUEST = 0.3, 0.3
STAND_STILL = (0.0, 0.0, 0.0, 0.02, 0.2, 0.8)  # between decision and commit: longer than both
CUSTOMERS = [UUID(int=number) for number in range(1, 4)]

ahead = local()  # how far the clock of this thread's machine is ahead


@pytest.fixture(autouse=True)
def _short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "SETTLING_SECONDS", REQUEST + CLOCKS)
    monkeypatch.setattr(manager, "REQUEST_SECONDS", REQUEST)


@pytest.fixture
def other_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    true = timezone.now

    def now() -> datetime:
        return true() + timedelta(seconds=getattr(ahead, "seconds", 0.0))

    monkeypatch.setattr(timezone, "now", now)


def write_until(end: float, chance: random.Random) -> None:
    """Write until the end, each time as one that stands still, and sometimes is killed."""
    ahead.seconds = chance.choice([-CLOCKS / 2, 0, CLOCKS / 2])
    while time.monotonic() < end:
        # Of others' carts some are gone, closed, or locked for too long.
        with suppress(CartNotFound, OperationalError, ZeroDivisionError):
            key = uuid7(nanoseconds=int(timezone.now().timestamp() * 10**9))
            carts = [*Cart.objects.values_list("pk", flat=True)]
            cart_id = chance.choice(carts or [key])
            write, note = Cart.objects, {"note": f"{chance.random()}"}
            ways: list[Callable[[], object]] = [
                *[partial(write.change_cart, cart_id, note)] * 5,
                partial(write.delete_cart, cart_id),
                partial(write.move_cart, cart_id, chance.choice(CUSTOMERS)),
            ]
            create = partial(Cart.objects.create_cart, key, chance.choice(CUSTOMERS), NEW)
            if chance.random() < 0.3 or len(carts) < 4:
                time.sleep(chance.choice([0, 0, 0.1, 2 * REQUEST]))  # before it is inserted
                ways = [create]
            with transaction.atomic():
                chance.choice(ways)()
                time.sleep(chance.choice(STAND_STILL))
                1 / (chance.random() > 0.1)


def read(
    after: PageCursor, limit: int, *, until: Event | None = None
) -> tuple[list[Any], list[Any]]:
    """Poll from the cursor until there is nothing more. Return what was listed, and the cursors."""
    told, cursors = list[ListedChange](), [(0, after)]
    while True:
        is_over = until is None or until.is_set()
        try:
            page, following = changes_after(after, limit, {})
        except OperationalError:  # the lock of writers was not to be had
            continue
        told += page
        if following == after and is_over:
            return told, cursors
        if following != after:
            cursors.append((len(told), following))
        after = PageCursor.parsed(str(following)) or after
        time.sleep(0.01)


def assert_whole(told: list[ListedChange]) -> None:
    """Check what a reader ends with: the last version of each cart, and each deletion."""
    last = {one.cart_id: one for one in told}
    assert {key for key, one in last.items() if one.version is None} == {
        *DeletedCart.objects.values_list("pk", flat=True)
    }
    assert {key: one.version for key, one in last.items() if one.version} == dict(
        Cart.objects.values_list("pk", "version")
    )


@pytest.mark.usefixtures("other_clocks")
def test_a_reader_ends_with_all() -> None:
    over = Event()
    seeds = [random.Random(number) for number in range(WRITERS)]
    end = time.monotonic() + SECONDS

    def poll(limit: int) -> Any:
        return read(OLDEST, limit, until=over)

    def write_all() -> None:
        try:
            together(partial(write_until, end, chance) for chance in seeds)
            time.sleep(REQUEST + 2 * CLOCKS)
        finally:
            over.set()

    (told, cursors), (other, _), _ = together([partial(poll, 7), partial(poll, 1000), write_all])

    assert Cart.objects.exists()
    for one in (told, other):
        assert_whole(one)
        # Nothing is skipped that is still kept.
        seen = {(change.cart_id, change.version) for change in one}
        kept = {*CartChange.objects.values_list("cart_id", "version")}
        assert kept <= seen
        assert {(key, 1) for key in Cart.objects.values_list("pk", flat=True)} <= seen
        for key in {change.cart_id for change in one}:
            versions = [change.version or 10**9 for change in one if change.cart_id == key]
            assert versions == sorted(versions)
            assert len(versions) == len({*versions})
    # Who begins again at any cursor ends with the same.
    for number in range(0, len(cursors), max(1, len(cursors) // 20)):
        known, cursor = cursors[number]
        assert_whole([*told[:known], *read(cursor, 100)[0]])


def test_nothing_later_is_told_before_what_may_still_commit() -> None:
    """On SQLite nothing later can happen, and the reader waits."""
    first, second = CartFactory(), CartFactory()
    told, _ = read(OLDEST, 100)
    _, position = changes_after(None, 1, {})
    with open_transaction(lambda: first.change(note="x")) as release:
        if connection.vendor == "postgresql":
            second.change(note="x")
            time.sleep(2 * (REQUEST + CLOCKS))
            assert changes_after(position, 100, {})[0] == told[:0]
        release()
    time.sleep(2 * (REQUEST + CLOCKS))
    assert_whole(read(OLDEST, 1)[0])


def test_no_page_is_read_while_a_cart_is_moved_between_servers() -> None:
    """Elsewhere a move is one commit, so that a reader sees the cart before it or after it."""
    if not connection.is_distributed:
        pytest.skip("only Citus commits on one server after the other")
    cart = CartFactory()
    with (
        open_transaction(lambda: Cart.objects.move_cart(cart.pk, CUSTOMERS[0])),
        pytest.raises(OperationalError, match="lock timeout"),
    ):
        changes_after(OLDEST, 100, {})
    time.sleep(2 * (REQUEST + CLOCKS))
    assert_whole(read(OLDEST, 100)[0])


def test_a_creation_that_was_halted_too_long_is_refused() -> None:
    """Its id tells a time that a reader may have passed."""
    key = uuid7()
    time.sleep(2 * REQUEST)
    with pytest.raises(OperationalError, match="too long ago"):
        Cart.objects.create_cart(key, CUSTOMERS[0], NEW)
    assert not Cart.objects.exists()


def test_a_reader_that_was_away_learns_of_each_cart_but_not_of_each_step() -> None:
    cart, gone = CartFactory(), CartFactory()
    for number in range(105):
        cart.change(note=f"{number}")
    Cart.objects.delete_cart(gone.pk)
    time.sleep(2 * (REQUEST + CLOCKS))
    told, _ = read(OLDEST, 100)
    assert [one.version for one in told if one.cart_id == cart.pk] == [1, *range(7, 107)]
    assert [one.version for one in told if one.cart_id == gone.pk] == [None]
