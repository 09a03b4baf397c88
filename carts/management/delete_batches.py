"""Walk along a table by its primary key, a batch at a time, and delete the rows."""

from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

from django.contrib.admin.models import LogEntry
from django.core.management.base import OutputWrapper
from django.db import OperationalError, connection, transaction
from django.db.models import F, Model, QuerySet
from django.db.models.functions import Least
from tqdm import tqdm

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
OF_CART = 1 + F("item_count") + F("option_count") + Least(F("version"), MAX_CHANGES)


def batches(rows: QuerySet[Any], size: int) -> Iterator[QuerySet[Any]]:
    """Yield the rows in batches of `size`, in order of their key."""
    keys = rows.order_by("pk").values_list("pk", flat=True)
    batch = list(keys[:size])
    while batch:
        yield rows.filter(pk__gte=batch[0], pk__lte=batch[-1])
        batch = list(keys.filter(pk__gt=batch[-1])[:size])


def counted(number: int, model: type[Model]) -> str:
    """Return the number with the name of what it counts."""
    names = model._meta
    return f"{number} {names.verbose_name if number == 1 else names.verbose_name_plural}"


def delete_batches(
    rows: QuerySet[Any],
    out: OutputWrapper,
    *,
    dry_run: bool,
    only: Callable[[QuerySet[Any]], QuerySet[Any]] = QuerySet.all,
) -> None:
    """Delete the rows, a few in a transaction, and write how many were deleted.

    `only` narrows a batch down to the rows to delete. A dry run only counts them. The progress is a
    bar on a terminal, and elsewhere a line between two batches.
    """
    gone, terminal = 0, out.isatty()
    verb = "would be deleted" if dry_run else "deleted"
    unit = f" {rows.model._meta.verbose_name_plural}"
    with tqdm(unit=unit, disable=not terminal) as progress:
        for number, batch in enumerate(map(only, batches(rows, BATCH))):
            if number and not terminal:
                out.write(f"{counted(gone, rows.model)} {verb} so far")
            done = batch.count() if dry_run else sum(map(delete, pieces(batch)))
            gone += done
            progress.update(done)
    out.write(f"{counted(gone, rows.model)} {verb}.")


def pieces(rows: QuerySet[Any]) -> Iterator[QuerySet[Any]]:
    """Yield the rows in pieces for a transaction each: of carts, by what they hold."""
    if rows.model is not Cart:
        yield rows
        return
    keys: list[Any] = []
    held = 0
    for key, more in list(rows.order_by("pk").values_list("pk", OF_CART)):
        if keys and held + more > MAX_ROWS:
            yield rows.filter(pk__in=keys)
            keys, held = [], 0
        keys.append(key)
        held += more
    if keys:
        yield rows.filter(pk__in=keys)


def delete(rows: QuerySet[Any]) -> int:
    """Delete the rows except those that are being changed. Return how many were deleted."""
    for _ in range(ATTEMPTS - 1):
        try:
            return _delete_once(rows)
        except OperationalError:  # SQLite has one writer at a time and may be busy for long
            sleep(1)
    return _delete_once(rows)


def _delete_once(rows: QuerySet[Any]) -> int:
    if _is_distributed(rows):  # at once, or if one of them is locked, customer by customer
        try:
            return delete_in_shards(rows)
        except OperationalError as error:
            if not is_row_held(error):
                raise
        customers = set(rows.order_by().values_list("profile_key", flat=True))
        return sum(_delete_unlocked(rows.filter(profile_key=customer)) for customer in customers)
    started = monotonic()
    gone = _delete_unlocked(rows)
    if gone and connection.vendor == "sqlite":
        sleep(monotonic() - started)  # who waited for the only write lock has as long a turn
    return gone


@transaction.atomic
def _delete_unlocked(rows: QuerySet[Any]) -> int:
    # Lock the rows before deleting them. A row that is being changed is skipped. A row that has
    # just been changed is read again, and no longer matches.
    skip = connection.features.has_select_for_update_skip_locked
    keys = list(rows.select_for_update(skip_locked=skip).values_list("pk", flat=True))
    # Carts' own `delete` refuses.
    remove = delete_in_shards if _is_distributed(rows) else QuerySet.delete
    remove(rows.filter(pk__in=keys))
    return len(keys)


def _is_distributed(rows: QuerySet[Any]) -> bool:
    database: Any = connection  # a backend of cartsvc.db
    return database.is_distributed and rows.model is not LogEntry
