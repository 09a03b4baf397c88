"""The lock on a cart, which every change but a creation begins with.

With it, a change looks at what it is about to change, in the same exchange with the database.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models
from django.db.models import FilteredRelation, Q
from django.db.models.expressions import Expression
from django.utils import timezone

from carts.cart_errors import CartNotFound, ItemNotFound, VersionMismatch
from carts.models.cart_status import OPEN, STATUS_COLUMNS, CartStatus
from carts.models.item import ITEM_COLUMNS, OPTION_COLUMNS, CartItem
from carts.models.reads import CUSTOMER, CartReader, carts_by
from carts.records import Item, Option, PlacedItem, checked_key
from cartsvc.db.compiled_statements import Cursor, Parameter, Rows, Select, one_exchange, parameters

# The version or versions that a caller expects; None if any will do.
Expected = int | Collection[int] | None


class LockedCart(NamedTuple):
    """What a change needs to know of the cart, and the moment at which it is made."""

    now: datetime
    id: UUID
    profile_key: UUID
    currency: str
    modified_on: datetime
    # The defaults are those of a cart before its creation.
    version: int = 0
    item_count: int = 0
    option_count: int = 0
    subtotal: Decimal = Decimal(0)
    stored_status: str = OPEN
    closed_on: datetime | None = None
    closed_until: datetime | None = None
    reference: str | None = None
    order_reference: str | None = None

    @property
    def stored(self) -> tuple[Any, ...]:
        """What the cart's `STATUS_COLUMNS` hold."""
        return self[-len(STATUS_COLUMNS) :]

    @property
    def status(self) -> CartStatus:
        """What the cart is `now`: a checkout may have run out."""
        return CartStatus(*self.stored).at(self.now)

    def in_status(self, status: CartStatus) -> "LockedCart":
        return LockedCart._make([*self[: -len(STATUS_COLUMNS)], *status])

    def check_version(self, expected: Expected) -> None:
        if expected is None:
            return
        versions = [expected] if isinstance(expected, int) else expected
        if not isinstance(versions, Collection) or any(type(one) is not int for one in versions):
            raise TypeError("A version is an integer, such as cart.version.")
        if self.version not in versions:
            raise VersionMismatch(version=self.version)


def lock_cart(
    carts: CartReader,
    cursor: Cursor,
    cart_id: UUID,
    *looks: Select,
    item_id: UUID | None = None,
) -> tuple[LockedCart, list[Rows]]:
    """Lock the cart until the transaction ends; return it with the rows of each of `looks`.

    All are sent at once. Those after the first run when the lock is held, so they see what the
    last change has left. If an item's id is given, the first look must find the item.
    """
    keys = {**carts.keys, "id": cart_id}
    if "profile_key" not in keys:
        # A shell gives the key, the text of it, or the cart.
        keys["id"] = cart_id = checked_key("cart_id", getattr(cart_id, "pk", cart_id))
        customers = carts.filter(pk=cart_id).values_list("profile_key", flat=True)
        if not (customer := customers.first()):
            raise CartNotFound
        keys["profile_key"] = customer
    lock = _select_for_update(carts.model, tuple(keys))
    cursors = [cursor.db.cursor() for _ in looks]
    with one_exchange(cursor):
        lock.send(cursor, keys)
        for look, other in zip(looks, cursors, strict=True):
            look.send(other, {**keys, "cart_id": cart_id, "item_id": item_id})
    locked = lock.received(cursor)
    found = [look.received(other) for look, other in zip(looks, cursors, strict=True)]
    if not locked:
        raise CartNotFound
    if item_id and not found[0]:
        raise ItemNotFound
    return LockedCart(carts.moment or timezone.now(), *locked[0]), found


def lock_open_cart(
    carts: CartReader,
    cursor: Cursor,
    cart_id: UUID,
    version: Expected,
    *looks: Select,
    item_id: UUID | None = None,
) -> tuple[LockedCart, list[Rows]]:
    """Do as `lock_cart`, and refuse a cart that is closed, or has no `version` that is expected."""
    cart, found = lock_cart(carts, cursor, cart_id, *looks, item_id=item_id)
    if cart.stored_status != OPEN:
        cart.status.check_open()
    cart.check_version(version)
    return cart, found


@cache
def _select_for_update(model: type[models.Model], keys: tuple[str, ...]) -> Select:
    columns = LockedCart._fields[1:]
    return Select(lambda: carts_by(model, keys).select_for_update().values_list(*columns))


def _select_items(**one: Expression) -> Select:
    """Return the SELECT of a cart's items: a row for each option, or one row if there is none.

    A join names the customer of both sides: otherwise a database that is spread by customer would
    refuse it.
    """
    return Select(
        lambda: (
            CartItem.objects.filter(**one, **parameters(CartItem, ["cart_id", "profile_key"]))
            .alias(chosen=FilteredRelation("options", condition=Q(options__profile_key=CUSTOMER)))
            .order_by("position", "chosen__position")
            .values_list(
                *("id", "position", "value", *ITEM_COLUMNS, "chosen__position"),
                *(f"chosen__{name}" for name in OPTION_COLUMNS),
            )
        )
    )


# What a change may look at.
SELECT_ITEM = _select_items(id=Parameter("item_id", models.UUIDField()))
SELECT_ITEMS = _select_items()
SELECT_LAST_POSITION = Select(
    lambda: (
        CartItem.objects.filter(**parameters(CartItem, ["cart_id", "profile_key"]))
        .order_by("-position")
        .values_list("position")[:1]
    )
)


def next_position(rows: Rows) -> int:
    """Return the position after that in the row of `SELECT_LAST_POSITION`, if there is one."""
    return rows[0][0] + 1 if rows else 0


@cache
def fields_of_cart(model: type[models.Model], names: tuple[str, ...]) -> Select:
    return Select(lambda: carts_by(model, ("id", "profile_key")).values_list(*names))


def items_in_rows(rows: Iterable[Sequence[Any]]) -> Iterator[PlacedItem]:
    """Yield the items in the rows of `SELECT_ITEM` or `SELECT_ITEMS`."""
    end = 3 + len(ITEM_COLUMNS)
    for _, same in groupby(rows, itemgetter(0)):
        first, *others = same
        item_id, position, value, *columns = first[:end]
        # An item without options comes with one row as well.
        chosen = () if first[end] is None else (first, *others)
        values = dict(zip(ITEM_COLUMNS, columns, strict=True))
        values["options"] = tuple([Option._make(row[end + 1 :]) for row in chosen])
        yield PlacedItem(item_id, position, Item._make(map(values.get, Item._fields)), value)
