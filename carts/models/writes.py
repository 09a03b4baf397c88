"""The statements of changes: lock, look, and write. Each is built once per process."""

from collections.abc import Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import FilteredRelation, Q

from carts.models.cart_state import CartState
from carts.models.change import CartChange
from carts.models.item import ITEM_FIELDS, OPTION_FIELDS, CartItem, CartItemOption
from carts.models.item_draft import ItemDraft
from carts.models.reads import CUSTOMER, carts_by
from cartsvc.db.statements import Insert, Select, Statement, delete, parameters, update

# The fields of a cart that Change Cart may change.
CHANGEABLE = ("platform", "ordering_channel", "fulfilment_channel", "note", "special_instructions")

# By what a change knows its cart. Each statement names the customer; see `reads.CUSTOMER`.
KEYS = ("id", "profile_key")

# The item `id` of the cart `cart_id`, once for each of its options. A join names the customer of
# both sides: otherwise a database that is spread by customer would refuse it.
ITEM = Select(
    lambda: (
        CartItem.objects.filter(**parameters(CartItem, ["id", "cart_id", "profile_key"]))
        .alias(chosen=FilteredRelation("options", condition=Q(options__profile_key=CUSTOMER)))
        .order_by("chosen__position")
        .values_list(
            *("position", *ITEM_FIELDS, "chosen__position"),
            *(f"chosen__{name}" for name in OPTION_FIELDS),
        )
    )
)
LAST_POSITION = Select(
    lambda: (
        CartItem.objects.filter(**parameters(CartItem, ["cart_id", "profile_key"]))
        .order_by("-position")
        .values_list("position")[:1]
    )
)
INSERT_ITEMS = Insert(CartItem, ["id", "cart_id", "profile_key", "position", *ITEM_FIELDS, "value"])
INSERT_OPTIONS = Insert(CartItemOption, ["item_id", "profile_key", "position", *OPTION_FIELDS])
INSERT_CHANGE = Insert(CartChange, [field.attname for field in CartChange._meta.concrete_fields])
UPDATE_ITEM = update(CartItem, [*ITEM_FIELDS, "value"], "id", "profile_key")
DELETE_OPTIONS = delete(CartItemOption, "item_id", "profile_key")
DELETE_ITEM = delete(CartItem, "id", "profile_key")
DELETE_ITEMS = delete(CartItem, "cart_id", "profile_key")
DELETE_OPTIONS_OF_CART = Statement(
    "DELETE FROM carts_cartitemoption WHERE profile_key = %s AND item_id IN"
    " (SELECT id FROM carts_cartitem WHERE profile_key = %s AND cart_id = %s)",
    CartItem,
    ["profile_key", "profile_key", "cart_id"],
)
DELETE_CHANGES = delete(CartChange, "cart_id", "profile_key")
DELETE_CHANGE = delete(CartChange, "cart_id", "profile_key", "version")


def item_draft(item_id: UUID, rows: Sequence[Sequence[Any]]) -> ItemDraft:
    """Return the item of the rows of `ITEM`, of which there is at least one."""
    first = len(ITEM_FIELDS) + 1
    options = [
        dict(zip(OPTION_FIELDS, row[first + 1 :], strict=True))
        for row in rows
        if row[first] is not None  # an item without options comes with one row as well
    ]
    position, *values = rows[0][:first]
    return ItemDraft(dict(zip(ITEM_FIELDS, values, strict=True)), options, item_id, position)


class CartWrites:
    """The statements that lock the cart itself and change it."""

    def __init__(self, model: type[models.Model]) -> None:
        self.insert = Insert(model, [field.attname for field in model._meta.concrete_fields])
        changed = [name for name in CartState._fields if name not in {*KEYS, "currency"}]
        self.update = update(model, changed, *KEYS)
        self.set = cache(lambda names: update(model, names, *KEYS))
        self.delete = delete(model, *KEYS)
        self.changeable = Select(lambda: carts_by(model, KEYS).values_list(*CHANGEABLE))


@cache
def lock(model: type[models.Model], keys: tuple[str, ...]) -> Select:
    """Return the SELECT that locks the cart with these `keys`. Its row is a `CartState`."""
    return Select(lambda: carts_by(model, keys).values_list(*CartState._fields), locks=True)
