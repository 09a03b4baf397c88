"""Walk along a table by its primary key, a batch at a time."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet


def stretches(rows: QuerySet[Any], batch: int) -> Iterator[tuple[Any, Any]]:
    """Yield the first and last key of each batch of `batch` rows, in order of the key."""
    keys = rows.order_by("pk").values_list("pk", flat=True)
    stretch = list(keys[:batch])
    while stretch:
        yield stretch[0], stretch[-1]
        stretch = list(keys.filter(pk__gt=stretch[-1])[:batch])
