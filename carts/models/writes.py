"""What a change makes of a cart, and the statements that write it."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from operator import itemgetter
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.conf import settings

from carts.cart_errors import CurrencyMismatch, TooMany, VersionMismatch
from carts.models import cart_statements
from carts.models.cart_change import MAX_CHANGES, Author, encoded
from carts.models.cart_status import OPEN, STATUS_COLUMNS, CartStatus
from carts.models.item import ITEM_COLUMNS
from carts.records import Item, NewCart, PlacedItem
from carts.value_types import Place
from cartsvc.db.transaction import Sent
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors

# The version or versions that a caller expects; None if any will do.
Expected = int | Collection[int] | None


class CartRow(NamedTuple):
    """What a change needs to know of the cart, and the `moment` at which it is made."""

    moment: datetime
    id: UUID
    profile_key: UUID
    currency: str
    modified_on: datetime
    # The defaults are those of a cart before its creation.
    version: int = 0
    item_count: int = 0
    option_count: int = 0
    subtotal: Decimal = Decimal(0)
    # These are the cart's `STATUS_COLUMNS`.
    stored_status: str = OPEN
    closed_on: datetime | None = None
    closed_until: datetime | None = None
    reference: str | None = None
    order_reference: str | None = None

    @property
    def status(self) -> CartStatus:
        """What the cart is at the moment of the change: a checkout may have run out."""
        return CartStatus._make(self[-len(STATUS_COLUMNS) :]).as_of(self.moment)

    @property
    def key(self) -> dict[str, UUID]:
        """The values by which statements find the cart, and what belongs to it."""
        return {"id": self.id, "cart_id": self.id, "profile_key": self.profile_key}

    @property
    def size(self) -> int:
        """The number of its items and options, together."""
        return self.item_count + self.option_count

    def in_status(self, status: CartStatus) -> "CartRow":
        return CartRow._make([*self[: -len(STATUS_COLUMNS)], *status])

    def check_version(self, expected: int | Collection[int]) -> None:
        versions = [expected] if isinstance(expected, int) else expected
        if not isinstance(versions, Collection) or any(type(one) is not int for one in versions):
            raise TypeError("A version is an integer, such as cart.version.")
        if self.version not in versions:
            raise VersionMismatch(version=self.version)


class WhatChanged(NamedTuple):
    """What the history says of a change: the values that differ, and of which item if of one."""

    operation: str
    old: Mapping[str, object]
    new: Mapping[str, object]
    item: PlacedItem | None = None


class Outcome(NamedTuple):
    """The cart after a change: as Get Cart shows it, if the manager `returns_cart` of its size."""

    version: int
    subtotal: Decimal
    json: str | None
    is_change: bool  # or it was like that already


class Totals(NamedTuple):
    """The number of items and options in a cart, and the subtotal: the sum of items' values."""

    item_count: int
    option_count: int
    subtotal: Decimal

    @classmethod
    def of_items(cls, items: Collection[PlacedItem]) -> Self:
        option_count, subtotal = 0, Decimal(0)
        for _, _, item, value in items:
            option_count += len(item.options)
            subtotal += value
        return cls(len(items), option_count, subtotal)


def next_version(
    cart: CartRow,
    before: Collection[PlacedItem] = (),
    after: Collection[PlacedItem] = (),
    sent_in: Place = (),
) -> CartRow:
    """Return the cart as it is once the items `before` have become those `after`.

    `sent_in` is the place of the caller's list of these items, such as `("items",)`. It is empty
    if what the caller sent is the item. A cart that is above a lowered limit may be changed, if it
    does not grow.
    """
    check_currencies(cart, after, sent_in)
    removed, added = Totals.of_items(before), Totals.of_items(after)
    item_count = cart.item_count - removed.item_count + added.item_count
    if item_count > max(cart.item_count, settings.MAX_ITEMS):
        raise TooMany(limit=settings.MAX_ITEMS, plural="items in a cart", field=sent_in)
    option_count = cart.option_count - removed.option_count + added.option_count
    if option_count > max(cart.option_count, settings.MAX_CART_OPTIONS):
        plural = "options in all items of a cart together"
        field = sent_in or ("options",)
        raise TooMany(limit=settings.MAX_CART_OPTIONS, plural=plural, field=field)
    if cart.stored_status != OPEN:
        cart = cart.in_status(cart.status)
    return cart._replace(
        version=cart.version + 1,
        item_count=item_count,
        option_count=option_count,
        subtotal=cart.subtotal - removed.subtotal + added.subtotal,
        # The clock of the machine that made the last change may have been ahead.
        modified_on=max(cart.modified_on, cart.moment),
    )


def check_currencies(cart: CartRow, items: Iterable[PlacedItem], sent_in: Place) -> None:
    """Raise an error for each item or option in another currency, up to what an answer lists."""
    errors: list[ApiError] = []
    for number, (_, _, item, _) in enumerate(items):
        place = (*sent_in, number) if sent_in else ()
        if item.currency != cart.currency:
            errors.append(CurrencyMismatch(currency=cart.currency, field=(*place, "currency")))
        for position, option in enumerate(item.options):
            if option.currency != cart.currency:
                field = (*place, "options", position, "currency")
                errors.append(CurrencyMismatch(currency=cart.currency, field=field))
        if len(errors) > MAX_ERRORS:
            break
    if errors:
        raise ApiErrors(errors) if len(errors) > 1 else errors[0]


COLUMNS_OF_EVERY_CHANGE: tuple[str, ...] = ("version", *Totals._fields, "modified_on")


def change_statements(
    cart: CartRow, new: CartRow, change: WhatChanged, author: Author
) -> list[Sent]:
    """Return the statements that write the cart as it is now, and the record of its change.

    The record that is too old to be kept is deleted.
    """
    columns = COLUMNS_OF_EVERY_CHANGE
    # What is closed or reopened; or a checkout that has run out, and may be one again to a clock
    # that is behind.
    if new[-len(STATUS_COLUMNS) :] != cart[-len(STATUS_COLUMNS) :]:
        columns = (*columns, *STATUS_COLUMNS)
    placed = change.item
    kind = Item if placed or "items" in change.new else NewCart
    record = {
        "cart_id": new.id,
        "profile_key": new.profile_key,
        "version": new.version,
        "at": new.modified_on,
        **author.columns,
        "operation": change.operation,
        "item_id": placed and placed.id,
        "item_name": placed and placed.item.display_name,
        "before": encoded(kind, change.old),
        "after": encoded(kind, change.new),
        "subtotal_before": cart.subtotal,
        "subtotal_after": new.subtotal,
    }
    statements: list[Sent] = [
        (cart_statements.update_cart(columns), new._asdict()),
        (cart_statements.INSERT_CHANGE, record),
    ]
    if new.version > MAX_CHANGES + 1:
        oldest = {**record, "version": new.version - MAX_CHANGES}
        statements.append((cart_statements.DELETE_CHANGE, oldest))
    return statements


def item_statements(cart: CartRow, old: PlacedItem, new: PlacedItem | None) -> list[Sent]:
    """Return the statements that replace an item, or remove it."""
    keys = {"id": old.id, "item_id": old.id, "profile_key": cart.profile_key}
    # The most frequent change is a new quantity, which leaves the options alone.
    differs = not new or new.item.options != old.item.options
    deleted = [(cart_statements.DELETE_OPTIONS, keys)] if differs and old.item.options else []
    if not new:
        return [*deleted, (cart_statements.DELETE_ITEM, keys)]
    update = cart_statements.UPDATE_ITEM, {**keys, **new.item._asdict(), "value": new.value}
    if not differs:
        return [update]
    rows = option_rows([new])
    return [*deleted, update, (cart_statements.INSERT_OPTIONS, {**keys, "rows": rows})]


def insertions(cart: CartRow, placed: Collection[PlacedItem]) -> list[Sent]:
    rows = [(key, position, *_columns_of(item), value) for key, position, item, value in placed]
    return [
        (cart_statements.INSERT_ITEMS, {**cart.key, "rows": rows}),
        (cart_statements.INSERT_OPTIONS, {**cart.key, "rows": option_rows(placed)}),
    ]


def item_deletions(cart: CartRow) -> list[Sent]:
    deletes = cart_statements.DELETE_OPTIONS_OF_CART, cart_statements.DELETE_ITEMS
    return [(delete, cart.key) for delete in deletes]


_columns_of = itemgetter(*map(Item._fields.index, ITEM_COLUMNS))


def option_rows(items: Iterable[PlacedItem]) -> list[tuple[Any, ...]]:
    return [
        (item_id, position, *option)
        for item_id, _, item, _ in items
        for position, option in enumerate(item.options)
    ]
