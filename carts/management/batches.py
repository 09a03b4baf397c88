"""Walk along a table by its primary key, a batch at a time."""

from argparse import ArgumentTypeError
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet


def batch_size(text: str) -> int:
    """Return the number that `text` names. For use as an argparse type.

    Raises:
        ArgumentTypeError: the text is not a whole number above 0.
    """
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a number of carts.")
    return int(text)


def batches(rows: QuerySet[Any], size: int) -> Iterator[tuple[Any, Any]]:
    """Yield the first and last key of each batch of `size` rows, in order of the key."""
    keys = rows.order_by("pk").values_list("pk", flat=True)
    batch = list(keys[:size])
    while batch:
        yield batch[0], batch[-1]
        batch = list(keys.filter(pk__gt=batch[-1])[:size])
