"""Walk along a table by its primary key, a batch at a time, and delete the rows."""

from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import TypeVar
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.core.management.base import OutputWrapper
from django.db import OperationalError, connection, transaction
from django.db.models import F, Model, QuerySet
from django.db.models.functions import Least

from carts.models import Cart
from carts.models.cart_change import MAX_CHANGES
from cartsvc.db.compiled_statements import delete_in_shards
from cartsvc.db.database_errors import is_row_held

ATTEMPTS = 5

# Rows that are read at once. A key may have several columns, and SQLite takes under 1,000 such
# conditions.
BATCH = 500

# Rows that a transaction deletes, of carts and of what belongs to them. A cart that has more goes
# alone.
MAX_ROWS = 1_000
ROWS_OF_CART = 1 + F("item_count") + F("option_count") + Least(F("version"), MAX_CHANGES)

ModelT = TypeVar("ModelT", bound=Model)


def batches(rows: QuerySet[ModelT], size: int) -> Iterator[QuerySet[ModelT]]:
    """Yield the rows in batches of `size`, in order of their key."""
    keys = rows.order_by("pk").values_list("pk", flat=True)
    batch = list(keys[:size])
    while batch:
        yield rows.filter(pk__gte=batch[0], pk__lte=batch[-1])
        batch = list(keys.filter(pk__gt=batch[-1])[:size])


def number_and_name(number: int, model: type[Model]) -> str:
    """Return the number with the name of what it counts."""
    names = model._meta
    return f"{number} {names.verbose_name if number == 1 else names.verbose_name_plural}"


def delete_batches(
    rows: QuerySet[ModelT],
    out: OutputWrapper,
    *,
    dry_run: bool,
    only: Callable[[QuerySet[ModelT]], QuerySet[ModelT]] = QuerySet.all,
) -> None:
    """Delete the rows, a few in a transaction, and write between two batches how many are gone.

    `only` narrows a batch down to the rows to delete. A dry run only counts them.
    """
    deleted = 0
    verb = "would be deleted" if dry_run else "deleted"
    for number, batch in enumerate(map(only, batches(rows, BATCH))):
        if number:
            out.write(f"{number_and_name(deleted, rows.model)} {verb} so far")
        deleted += batch.count() if dry_run else sum(map(_delete, small_batches(batch)))
    out.write(f"{number_and_name(deleted, rows.model)} {verb}.")


def small_batches(rows: QuerySet[ModelT]) -> Iterator[QuerySet[ModelT]]:
    """Yield the rows in batches for a transaction each: of carts, by what they hold."""
    if rows.model is not Cart:
        yield rows
        return
    keys: list[UUID] = []
    total = 0
    for key, size in list(rows.order_by("pk").values_list("pk", ROWS_OF_CART)):
        if keys and total + size > MAX_ROWS:
            yield rows.filter(pk__in=keys)
            keys, total = [], 0
        keys.append(key)
        total += size
    if keys:
        yield rows.filter(pk__in=keys)


def _delete(rows: QuerySet[ModelT]) -> int:
    """Delete the rows except those that are being changed. Return how many were deleted."""
    for _ in range(ATTEMPTS - 1):
        try:
            return _delete_once(rows)
        except OperationalError:  # SQLite has one writer at a time and may be busy for long
            sleep(1)
    return _delete_once(rows)


def _delete_once(rows: QuerySet[ModelT]) -> int:
    if _is_distributed(rows):  # at once, or if one of them is locked, customer by customer
        try:
            return delete_in_shards(rows)
        except OperationalError as error:
            if not is_row_held(error):
                raise
        customers = set(rows.order_by().values_list("profile_key", flat=True))
        return sum(_delete_unlocked(rows.filter(profile_key=customer)) for customer in customers)
    started = monotonic()
    deleted = _delete_unlocked(rows)
    if deleted and connection.vendor == "sqlite":
        sleep(monotonic() - started)  # who waited for the only write lock has as long a turn
    return deleted


@transaction.atomic
def _delete_unlocked(rows: QuerySet[ModelT]) -> int:
    # Lock the rows before deleting them. A row that is being changed is skipped. A row that has
    # just been changed is read again, and no longer matches.
    skip = connection.features.has_select_for_update_skip_locked
    keys = list(rows.select_for_update(skip_locked=skip).values_list("pk", flat=True))
    locked = rows.filter(pk__in=keys)
    if _is_distributed(rows):
        delete_in_shards(locked)
    else:
        QuerySet.delete(locked)  # carts' own `delete` refuses
    return len(keys)


def _is_distributed(rows: QuerySet[ModelT]) -> bool:
    of_carts = rows.model is not LogEntry
    return of_carts and connection.is_distributed  # type: ignore[attr-defined] # of cartsvc.db
