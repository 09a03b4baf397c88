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


def stretches(rows: QuerySet[Any], batch: int) -> Iterator[tuple[Any, Any]]:
    """Yield the first and last key of each batch of `batch` rows, in order of the key."""
    keys = rows.order_by("pk").values_list("pk", flat=True)
    stretch = list(keys[:batch])
    while stretch:
        yield stretch[0], stretch[-1]
        stretch = list(keys.filter(pk__gt=stretch[-1])[:batch])
