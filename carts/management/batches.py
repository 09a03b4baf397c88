"""Walk along a table by its primary key, a batch at a time, and delete the rows."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.core.management.base import OutputWrapper
from django.db import OperationalError, connection, transaction
from django.db.models import Model, QuerySet

from carts.models import Cart
from cartsvc.db.compiled_statements import delete_in_shards
from cartsvc.db.database_errors import is_row_held

Querysets = Iterable[QuerySet[Any]]
Kinds = Iterator[tuple[type[Model], Querysets]]

# Rows that are read at once. A key may have several columns, and SQLite takes under 1,000 such
# conditions.
BATCH = 500

# Carts that a transaction deletes: each may hold over a thousand other rows.
CARTS_DELETED_AT_ONCE = 10


def batches(rows: QuerySet[Any], size: int) -> Iterator[QuerySet[Any]]:
    """Yield the rows in batches of `size`, in order of their key."""
    keys = rows.order_by("pk").values_list("pk", flat=True)
    batch = list(keys[:size])
    while batch:
        yield rows.filter(pk__gte=batch[0], pk__lte=batch[-1])
        batch = list(keys.filter(pk__gt=batch[-1])[:size])


def among(rows: QuerySet[Any], name: str, values: Sequence[Any], size: int = BATCH) -> Querysets:
    """Yield the rows whose field `name` has one of the values, a batch of values at a time."""
    for first in range(0, len(values), size):
        yield rows.filter(**{f"{name}__in": values[first : first + size]})


def counted(kinds: Kinds) -> str:
    """Return how many rows of each model there are, such as `2 carts, 0 log entries`."""
    counts = ((sum(rows.count() for rows in querysets), model) for model, querysets in kinds)
    return ", ".join(f"{count} {model._meta.verbose_name_plural}" for count, model in counts)


def any_left(kinds: Kinds) -> bool:
    return any(rows.exists() for _, querysets in kinds for rows in querysets)


def delete_batches(model: type[Model], querysets: Querysets, out: OutputWrapper) -> int:
    """Delete the rows, and write how many are gone.

    Return how many are left, because they are being changed.
    """
    found, deleted, size = 0, 0, CARTS_DELETED_AT_ONCE if model is Cart else BATCH
    for batch in (batch for rows in querysets for batch in batches(rows, BATCH)):
        keys = list(batch.values_list("pk", flat=True))
        found += len(keys)
        for first in range(0, len(keys), size):
            deleted += _delete(batch, keys[first : first + size])
    out.write(f"{deleted} {model._meta.verbose_name_plural} deleted.")
    return found - deleted


def _delete(rows: QuerySet[Any], keys: Sequence[UUID]) -> int:
    """Delete these of the rows, except those that are being changed. Return how many went."""
    rows = rows.filter(pk__in=keys)
    if rows.model is not LogEntry and connection.is_distributed:  # type: ignore[attr-defined] # of cartsvc.db
        try:
            return delete_in_shards(rows)
        except OperationalError as error:
            if not is_row_held(error):
                raise
        return sum(_delete(rows, [key]) for key in keys) if len(keys) > 1 else 0
    with transaction.atomic():
        # A row that has just been changed is read again as it is locked, and no longer matches.
        skip = connection.features.has_select_for_update_skip_locked
        locked = list(rows.select_for_update(skip_locked=skip).values_list("pk", flat=True))
        QuerySet(rows.model).filter(pk__in=locked).delete()  # carts' own `delete` refuses
    return len(locked)
