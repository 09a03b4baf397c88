"""The lock on a cart, which every change but a creation begins with.

With it, a change looks at what it is about to change, in the same exchange with the database.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import models
from django.db.models import FilteredRelation, Q
from django.db.models.expressions import Expression
from django.utils import timezone

from carts.cart_errors import CartNotFound, ItemNotFound
from carts.changeable_fields import CHANGEABLE_CART_FIELDS
from carts.models.cart_statements import CART_KEYS
from carts.models.cart_status import OPEN
from carts.models.item import ITEM_COLUMNS, OPTION_COLUMNS, CartItem
from carts.models.reads import CUSTOMER, carts_by
from carts.models.tombstones import KEPT_OF_DELETED
from carts.models.writes import CartRow, Expected
from carts.records import Item, Option, PlacedItem, checked_key
from cartsvc.db.compiled_statements import Parameter, Rows, Select, parameters
from cartsvc.db.transaction import Transaction

if TYPE_CHECKING:
    from carts.models.manager import CartManager


def lock_cart(
    carts: "CartManager",
    transaction: Transaction,
    cart_id: UUID,
    *looks: Select,
    item_id: UUID | None = None,
) -> tuple[CartRow, list[Rows]]:
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
    lock = _select_for_update(tuple(keys))
    values = {**keys, "cart_id": cart_id, "item_id": item_id}
    locked, *found = transaction.round_trip((one, values) for one in (lock, *looks))
    if not locked:
        raise CartNotFound
    if item_id and not found[0]:
        raise ItemNotFound
    return CartRow(carts.moment or timezone.now(), *locked[0]), found


def lock_open_cart(
    carts: "CartManager",
    transaction: Transaction,
    cart_id: UUID,
    version: Expected,
    *looks: Select,
    item_id: UUID | None = None,
) -> tuple[CartRow, list[Rows]]:
    """Do as `lock_cart`, and refuse a cart that is closed, or has no `version` that is expected."""
    cart, found = lock_cart(carts, transaction, cart_id, *looks, item_id=item_id)
    if cart.stored_status != OPEN:
        cart.status.check_open()
    cart.check_version(version)
    return cart, found


@cache
def _select_for_update(keys: tuple[str, ...]) -> Select:
    columns = CartRow._fields[1:]
    return Select(lambda: carts_by(keys).select_for_update().values_list(*columns))


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
SELECT_CHANGEABLE = Select(lambda: carts_by(CART_KEYS).values_list(*CHANGEABLE_CART_FIELDS))
SELECT_KEPT = Select(lambda: carts_by(CART_KEYS).values_list(*KEPT_OF_DELETED))


def next_position(rows: Rows) -> int:
    """Return the position after that in the row of `SELECT_LAST_POSITION`, if there is one."""
    return rows[0][0] + 1 if rows else 0


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
