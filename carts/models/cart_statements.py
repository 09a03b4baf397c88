"""The statements of changes: lock, look, and write. Each is built once per process."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import FilteredRelation, Q

from carts.models.cart_change import CartChange
from carts.models.deleted_cart import DeletedCart
from carts.models.item import ITEM_COLUMNS, OPTION_COLUMNS, CartItem, CartItemOption
from carts.models.reads import CUSTOMER, carts_by
from carts.models.totals import LockedCart, Totals
from carts.records import CART_CHANGES, Item, Option, PlacedItem
from cartsvc.db.compiled_statements import (
    Insert,
    Parameter,
    Select,
    Statement,
    delete,
    insert_one,
    parameters,
    update,
)

# By what a change knows its cart. Each statement names the customer; see `reads.CUSTOMER`.
KEYS = ("id", "profile_key")


def _items(**one: Parameter) -> Select:
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


ITEM = _items(id=Parameter("item_id", models.UUIDField()))
ITEMS = _items()
LAST_POSITION = Select(
    lambda: (
        CartItem.objects.filter(**parameters(CartItem, ["cart_id", "profile_key"]))
        .order_by("-position")
        .values_list("position")[:1]
    )
)
INSERT_ITEMS = Insert(
    CartItem, ["id", "position", *ITEM_COLUMNS, "value"], shared=["profile_key", "cart_id"]
)
INSERT_OPTIONS = Insert(
    CartItemOption, ["item_id", "position", *OPTION_COLUMNS], shared=["profile_key"]
)
UPDATE_ITEM = update(CartItem, [*ITEM_COLUMNS, "value"], "id", "profile_key")
DELETE_OPTIONS = delete(CartItemOption, "item_id", "profile_key")
DELETE_ITEM = delete(CartItem, "id", "profile_key")
DELETE_ITEMS = delete(CartItem, "cart_id", "profile_key")
DELETE_OPTIONS_OF_CART = Statement(
    "DELETE FROM carts_cartitemoption WHERE profile_key = %s AND item_id IN"
    " (SELECT id FROM carts_cartitem WHERE profile_key = %s AND cart_id = %s)",
    CartItem,
    ["profile_key", "profile_key", "cart_id"],
)
INSERT_CHANGE = insert_one(CartChange)
INSERT_DELETED = insert_one(DeletedCart, " ON CONFLICT DO NOTHING")
DELETE_CHANGES = delete(CartChange, "cart_id", "profile_key")
DELETE_CHANGE = delete(CartChange, "cart_id", "profile_key", "version")

_columns_of = itemgetter(*map(Item._fields.index, ITEM_COLUMNS))


def item_rows(items: Iterable[PlacedItem]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of INSERT_ITEMS."""
    for item_id, position, item, value in items:
        yield (item_id, position, *_columns_of(item), value)


def option_rows(items: Iterable[PlacedItem]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of INSERT_OPTIONS."""
    for item_id, _, item, _ in items:
        for position, option in enumerate(item.options):
            yield (item_id, position, *option)


def placed_items(rows: Iterable[Sequence[Any]]) -> Iterator[PlacedItem]:
    """Yield the items of the rows of `ITEM` or `ITEMS`."""
    end = 3 + len(ITEM_COLUMNS)
    for _, same in groupby(rows, itemgetter(0)):
        first, *others = same
        item_id, position, value, *columns = first[:end]
        # An item without options comes with one row as well.
        chosen = () if first[end] is None else (first, *others)
        values = dict(zip(ITEM_COLUMNS, columns, strict=True))
        values["options"] = tuple([Option._make(row[end + 1 :]) for row in chosen])
        yield PlacedItem(item_id, position, Item._make(map(values.get, Item._fields)), value)


def in_order(items: Mapping[UUID, Item], last: Sequence[Any] = ()) -> dict[UUID, PlacedItem]:
    """Return the items, by their ids, in their places: after the row of `LAST_POSITION`, if any."""
    numbered = enumerate(items.items(), last[0][0] + 1 if last else 0)
    return {key: PlacedItem(key, number, item, item.value) for number, (key, item) in numbered}


@cache
def insert_cart(model: type[models.Model]) -> Statement:
    return insert_one(model)


@cache
def update_cart(model: type[models.Model], names: tuple[str, ...]) -> Statement:
    return update(model, names, *KEYS)


# What every change writes of its cart.
OF_EVERY_CHANGE = ("version", *Totals._fields, "modified_on")


@cache
def delete_cart(model: type[models.Model]) -> Statement:
    return delete(model, *KEYS)


@cache
def changeable(model: type[models.Model]) -> Select:
    """Return the SELECT of what Change Cart may change."""
    return Select(lambda: carts_by(model, KEYS).values_list(*CART_CHANGES))


@cache
def lock(model: type[models.Model], keys: tuple[str, ...]) -> Select:
    """Return the SELECT that locks the cart with these `keys`. Its row is a `LockedCart`."""
    return Select(
        lambda: carts_by(model, keys).select_for_update().values_list(*LockedCart._fields)
    )
