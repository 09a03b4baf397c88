import re
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any, cast

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.cart_errors import CartNotFound
from carts.management.batches import CARTS_DELETED_AT_ONCE
from carts.models import (
    Cart,
    CartItem,
    CartItemOption,
    DeletedCart,
    IdempotencyRecord,
    StaffEntry,
)
from carts.records import Closing
from tests.support.callers import PROFILE
from tests.support.concurrency import in_background, together
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import table_contents, unguarded_rows

NOW = timezone.now()


def purge(*arguments: str) -> list[str]:
    """Purge, and return what is said of it when it is done."""
    out = StringIO()
    call_command("purge_carts", "--force", *arguments, stdout=out)
    return out.getvalue().splitlines()[1:]


def key(age: timedelta) -> uuid.UUID:
    """Return a key made this long ago."""
    return uuid7(nanoseconds=int((NOW - age).timestamp() * 10**9))


def old_cart(days: int, *, untouched: int | None = None) -> Cart:
    """Create a cart of this age in days, last changed this many days ago."""
    cart: Any = CartFactory(
        id=key(timedelta(days=days)), items=[ItemFactory(with_option=True) for _ in range(2)]
    )
    changed = NOW - timedelta(days=days if untouched is None else untouched)
    unguarded_rows(Cart).filter(pk=cart.pk).update(
        created_on=NOW - timedelta(days=days), modified_on=changed
    )
    return cast("Cart", cart)


def records(number: int, age: timedelta) -> list[IdempotencyRecord]:
    values = {"key": "k", "digest": b"f", "created_on": NOW - age}
    return IdempotencyRecord.objects.bulk_create(
        IdempotencyRecord(profile_key=uuid.uuid4(), **values) for _ in range(number)
    )


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carts.management.batches.BATCH", 2)


@pytest.mark.parametrize("number", [1_200, 5])
def test_expired_idempotency_records_go(db: None, number: int) -> None:
    kept = records(1, timedelta(hours=23)) + records(1, timedelta())
    records(number, timedelta(hours=25))
    last = purge("--older-than", "12h")[-1]
    assert last == f"{number} idempotency records deleted."
    assert {record.pk for record in IdempotencyRecord.objects.all()} == {each.pk for each in kept}


@pytest.mark.usefixtures("small_batches")
def test_untouched_carts_go_with_all_they_hold(db: None) -> None:
    for days in (31, 45, 400):
        old_cart(days)
    kept = [old_cart(29), old_cart(400, untouched=29), old_cart(0)]
    lines = purge("--older-than", "30d")
    assert set(Cart.objects.all()) == set(kept)
    assert CartItem.objects.count() == CartItemOption.objects.count() == 6
    assert lines == [
        "3 carts deleted.",
        "0 deleted carts deleted.",
        "0 moved carts deleted.",
        "0 log entries deleted.",
        "0 idempotency records deleted.",
    ]
    assert purge("--older-than", "30d")[-5] == "0 carts deleted."


def entry(cart_id: uuid.UUID, days: int, model: type[Model] = Cart) -> LogEntry:
    """Return an entry of this age in days in the log of changes by staff."""
    user, _ = User.objects.get_or_create(username="anna")
    entry = LogEntry.objects.create(
        user=user,
        content_type=ContentType.objects.get_for_model(model),
        object_id=cart_id,
        action_flag=CHANGE,
        action_time=NOW - timedelta(days=days),
        change_message="Item “Pizza Margherita”: instructions “For Mia” → nothing",
    )
    if model is Cart:
        StaffEntry.objects.create(log_entry=entry, cart_id=cart_id, profile_key=PROFILE)
    return entry


@pytest.mark.usefixtures("small_batches")
def test_what_staff_did_to_a_cart_goes_with_it(db: None) -> None:
    purged, kept, deleted = old_cart(40), old_cart(40, untouched=2), uuid.uuid4()
    for _ in range(3):
        entry(purged.pk, 40)
        entry(deleted, 31)
    left = [
        entry(kept.pk, 40),
        entry(deleted, 29),
        entry(deleted, 40, User),  # of an account
    ]
    assert purge("--older-than", "30d")[-2] == "6 log entries deleted."
    assert set(LogEntry.objects.all()) == set(left)


def test_without_an_age_what_has_expired_goes(db: None, settings: Any) -> None:
    settings.CART_DAYS, settings.ORDERED_CART_DAYS = 30, 7
    for days, status, closed in (
        *((31, "open", None), (31, "abandoned", 31), (31, "checkout", 31)),
        (8, "ordered", 8),
    ):
        ended(old_cart(days), status, closed)
    kept = [old_cart(29), old_cart(400, untouched=29), old_cart(6)]
    for days, status, closed in ((29, "abandoned", 29), (8, "open", None), (8, "ordered", 6)):
        cart = old_cart(days)
        ended(cart, status, closed)
        kept.append(cart)
    assert purge()[0] == "4 carts deleted."
    assert set(Cart.objects.all()) == set(kept)


def ended(cart: Cart, status: str, closed: int | None) -> None:
    """Have the cart this status, closed this many days ago."""
    closed_on = closed and NOW - timedelta(days=closed)
    until = closed_on if status == "checkout" else None
    unguarded_rows(Cart).filter(pk=cart.pk).update(
        stored_status=status, closed_on=closed_on, closed_until=until, reference=closed and "order"
    )


@pytest.mark.parametrize(
    ("days", "ordered_days", "left"),
    [(365, 7, [40, 8]), (7, 30, [8]), (7, 7, []), (0, 7, [40, 8]), (7, 0, [40, 8])],
)
def test_what_is_kept_of_a_deleted_cart_stays_as_long_as_any_cart(
    db: None, settings: Any, days: int, ordered_days: int, left: list[int]
) -> None:
    settings.CART_DAYS, settings.ORDERED_CART_DAYS = days, ordered_days
    for age in (40, 8):
        Cart.objects.dated(NOW - timedelta(days=age)).delete_cart(old_cart(41).pk)
        entry(uuid.uuid4(), age)
    purge()
    deleted = DeletedCart.objects.order_by("deleted_on").values_list("deleted_on", flat=True)
    logged = LogEntry.objects.order_by("action_time").values_list("action_time", flat=True)
    assert [*deleted] == [*logged] == [NOW - timedelta(days=age) for age in left]


def test_a_cart_stays_while_somebody_pays(db: None) -> None:
    paying, gone = old_cart(2), old_cart(2)
    for cart, seconds in ((paying, 3_600), (gone, 600)):
        closing = Closing(outcome="checkout", reference="payment", seconds=seconds)
        Cart.objects.dated(NOW - timedelta(minutes=20)).close_cart(cart.pk, closing)
    assert purge("--older-than", "10m")[0] == "1 carts deleted."
    assert Cart.objects.get() == paying


def test_carts_are_kept_for_ever_unless_a_setting_says_otherwise(db: None) -> None:
    old_cart(4_000)
    records(1, timedelta(days=2))
    assert purge() == ["1 idempotency records deleted."]
    assert Cart.objects.exists()


def test_a_transaction_deletes_few_carts(db: None) -> None:
    for _ in range(2 * CARTS_DELETED_AT_ONCE + 1):
        old_cart(40)
    deleted = []

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        if re.match('DELETE FROM "?carts_cart"? ', sql):
            deleted.append(rest[-1]["cursor"].rowcount)
        return result

    with connection.execute_wrapper(count):
        purge("--older-than=30d")
    assert deleted == [CARTS_DELETED_AT_ONCE, CARTS_DELETED_AT_ONCE, 1]


TOLD = "1 carts, 0 deleted carts, 0 moved carts, 1 log entries, 1 idempotency records"


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_what_would_be_deleted_is_told_before_it_is(db: None, more: list[str]) -> None:
    entry(old_cart(31).pk, 40)
    entry(uuid.uuid4(), 40)
    old_cart(2)
    records(1, timedelta(days=2))
    before, left = table_contents(), []

    class Out(StringIO):
        def write(self, text: str) -> int:
            left.append(table_contents() == before)
            return super().write(text)

    out = Out()
    call_command("purge_carts", "--older-than=4w", *more, stdout=out)
    line, *deleted = out.getvalue().splitlines()
    assert re.fullmatch(f"At {timezone.now():%Y-%m-%dT%H}:.+Z, {TOLD} would be deleted.", line)
    assert left[0]
    assert (table_contents() == before, len(deleted)) == ((True, 0) if more else (False, 5))


WRONG = {
    "postgresql": f"^Set the clocks: this machine says {NOW + timedelta(days=32):%Y-%m-%d}T.+Z, "
    f"the database {NOW:%Y-%m-%d}T.+Z\\.$",
    "sqlite": "^By this machine's clock, no cart has changed for half of the time",
}


@pytest.mark.parametrize("arguments", [[], ["--older-than=30d"]])
def test_by_a_clock_that_is_ahead_nothing_is_deleted(
    db: None,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    unchanged: Callable[[], None],
    arguments: list[str],
) -> None:
    settings.CART_DAYS = settings.ORDERED_CART_DAYS = 30
    for days in (0, 1, 29, 31):
        entry(old_cart(days).pk, days)
    records(1, timedelta(hours=1))
    unchanged()
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(days=32))
    with pytest.raises(CommandError, match=WRONG[connection.vendor]):
        call_command("purge_carts", *arguments, stdout=StringIO())


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has a clock of its own")
@pytest.mark.parametrize(
    ("ages", "keys", "refused"),
    [
        ([16, 31], 0, True),
        ([14, 31], 1, False),
        ([16], 1, True),
        ([16], 0, False),  # nothing has expired
        ([], 1, False),
    ],
)
def test_on_sqlite_a_pass_that_would_leave_nothing_new_is_refused(
    db: None, settings: Any, ages: list[int], keys: int, refused: bool
) -> None:
    settings.CART_DAYS = 30
    for age in ages:
        old_cart(age)
    records(keys, timedelta(days=2))
    before = table_contents()
    with pytest.raises(CommandError) if refused else nullcontext():
        call_command("purge_carts", stdout=StringIO())
    assert (table_contents() == before) == (refused or not keys)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no clock of its own")
def test_the_clock_of_the_database_says_what_has_expired(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = old_cart(1)
    unguarded_rows(Cart).update(modified_on=datetime.now(UTC) - timedelta(minutes=9, seconds=30))
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(seconds=40))
    assert purge("--older-than=10m")[0] == "0 carts deleted."
    assert Cart.objects.get() == kept


@pytest.mark.parametrize("age", ["", "30", "d", "-1d", "0d", "1.5d", "30 d", "3y", "999999d", "٣d"])
def test_an_age_that_is_none_is_refused(db: None, unchanged: Callable[[], None], age: str) -> None:
    old_cart(400)
    unchanged()
    with pytest.raises(CommandError, match="is not a duration such as"):
        purge(f"--older-than={age}")


@pytest.mark.django_db(transaction=True)
def test_a_cart_that_a_customer_is_changing_stays() -> None:
    busy, _ = old_cart(40), old_cart(40)
    with transaction.atomic():
        busy.add_item(**ItemFactory())
        thread = in_background(lambda: purge("--older-than", "30d"))
        if connection.vendor == "postgresql":
            thread.join()  # it skips the cart whose row is locked
    thread.join()
    assert list(Cart.objects.all()) == [busy]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.django_db(transaction=True)
def test_two_runs_and_a_customer_at_once() -> None:
    carts = [old_cart(40) for _ in range(40)]

    def run() -> int:
        lines = purge("--older-than", "30d")
        return int(next(line for line in lines if line.endswith("deleted.")).split()[0])

    def change() -> int:
        """Return how many of the carts were gone already."""
        refused = 0
        for cart in carts[::4]:
            try:
                cart.add_item(**ItemFactory())
            except CartNotFound:
                refused += 1
        return refused

    *counts, refused = together([run, run, change])
    left = Cart.objects.all()
    assert sum(counts) + len(left) == 40
    # The carts that are left are those that the customer changed first, with the new items.
    assert {cart.pk for cart in left} <= {cart.pk for cart in carts[::4]}
    assert all(cart.items.count() == 3 for cart in left)
    assert len(left) + refused == 10
