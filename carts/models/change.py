"""The changes of a cart: who changed what and when, what was and what is.

A change is recorded in the transaction that makes it. A creation has no record: who created a
cart, when and by which request stand in the cart's row.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from getpass import getuser
from typing import Any, Self
from uuid import UUID

import simplejson
from django.db import IntegrityError, OperationalError, models

from carts import limits
from cartsvc.control_characters import UNPRINTABLE
from cartsvc.db.exact_field import ExactField
from cartsvc.db.statements import atomic_change

# The latest changes of a cart that are kept.
MAX_CHANGES = 100

NAME_LENGTH, REQUEST_ID_LENGTH, WHY_LENGTH = 80, 64, 200

# Values as JSON text, in their order and exactly; and back, with prices as int or Decimal.
encoded = simplejson.JSONEncoder(ensure_ascii=False, separators=(",", ":"), use_decimal=True).encode
decoded = simplejson.JSONDecoder(parse_float=Decimal).decode


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a change.

    `kind` is "bearer", "staff" or "shell". `name` is the token's `sub`, the account's name or
    the operating system's user, cut to `NAME_LENGTH` characters and printable. `why` is the
    reason that a member of staff gives, of up to `WHY_LENGTH` characters.
    """

    kind: str
    name: str
    request_id: str | None = None
    why: str | None = None

    def __post_init__(self) -> None:
        # The operating system's names may hold any bytes.
        printable = UNPRINTABLE.sub("\ufffd", self.name[:NAME_LENGTH])
        object.__setattr__(self, "name", printable)

    @classmethod
    def shell(cls) -> Self:
        try:
            return cls("shell", getuser())
        except (KeyError, OSError):  # the user has no name, as in a container
            return cls("shell", "")


class CartChange(models.Model):
    """One change of a cart, known by the version of the cart that it made.

    `item_name` is the item's name after the change, or before its removal.

    `before` and `after` are JSON objects of the item's fields that differ, options included, with
    the names of the model. An item that came or went stands there whole, with its `position`. Of
    an operation on the cart itself they hold the cart's fields that differ.
    """

    pk = models.CompositePrimaryKey("cart_id", "version")
    cart = models.ForeignKey(
        "carts.Cart",
        on_delete=models.CASCADE,
        related_name="changes",
        db_index=False,  # the primary key's index begins with it
    )
    profile_key = models.UUIDField()
    version = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    author_kind = models.CharField(max_length=6)
    author_name = models.CharField(max_length=NAME_LENGTH)
    request_id = models.CharField(max_length=REQUEST_ID_LENGTH, null=True)
    why = models.CharField(max_length=WHY_LENGTH, null=True)
    operation = models.CharField(max_length=20)
    item_id = models.UUIDField(null=True)
    item_name = models.CharField(max_length=limits.MAX_LENGTHS["display_name"], null=True)
    before = models.TextField()
    after = models.TextField()
    subtotal_before = ExactField()
    subtotal_after = ExactField()

    class Meta:
        ordering = ["version"]

    def __str__(self) -> str:
        return f"{self.operation} (version {self.version})"

    @property
    def was(self) -> dict[str, Any]:
        """What was: the fields in `before`, prices as Decimal."""
        return decoded(self.before)

    @property
    def now(self) -> dict[str, Any]:
        """What is since: the fields in `after`, prices as Decimal."""
        return decoded(self.after)

    @property
    def author(self) -> Author:
        return Author(self.author_kind, self.author_name, self.request_id, self.why)


@contextmanager
def recorded() -> Iterator[Any]:
    """Run the block in a transaction, as `atomic_change`: a change and its record. Yield a cursor.

    If another change has made this version, the database is unavailable. On one server the cart's
    lock makes that impossible. Citus lets a shard move between the lock and the write, without it.
    """
    try:
        with atomic_change() as cursor:
            yield cursor
    except IntegrityError as error:
        if CartChange._meta.db_table in str(error):
            raise OperationalError(str(error)) from error
        raise


def items_before(
    items: Mapping[UUID, Mapping[str, Any]], changes: Iterable[CartChange]
) -> dict[UUID, dict[str, Any]]:
    """Return the items as they were before these changes, which are undone one after another.

    `items` are those after the changes, by their ids. `changes` come newest first, without a gap.
    An item that one of them has removed comes back with the `position` that it had.
    """
    found = {item_id: dict(item) for item_id, item in items.items()}
    for change in changes:
        was, now = change.was, change.now
        if not change.item_id:
            continue
        if was.keys() == now.keys():
            found.get(change.item_id, {}).update(was)
        elif was:
            found[change.item_id] = was
        else:
            found.pop(change.item_id, None)
    return found


def difference(
    before: Mapping[str, Any], after: Mapping[str, Any], names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the named values that differ, as they were and as they are."""
    changed = [name for name in names if before[name] != after[name]]
    return {name: before[name] for name in changed}, {name: after[name] for name in changed}
