"""The statements that read and change carts, each built once per process."""

from collections.abc import Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.db import models

from carts.models.change import CartChange
from carts.models.draft import ItemDraft
from carts.models.item import ITEM_FIELDS, OPTION_FIELDS, CartItem, CartItemOption
from carts.models.reads import CartQuerySet, CartSummary, items_json
from carts.models.state import CartState
from cartsvc.db.statements import Delete, DeleteBelow, Insert, Parameter, Select, Update, parameters

# The fields of a cart that Change Cart may change.
CHANGEABLE = (
    "platform",
    "ordering_channel",
    "fulfilment_channel",
    "note",
    "special_instructions",
)

# The item `id` of the cart `cart_id`, once for each of its options.
ITEM = Select(
    lambda: (
        CartItem.objects.filter(**parameters(CartItem, ["id", "cart_id"]))
        .order_by("options__position")
        .values_list(
            *("position", *ITEM_FIELDS),
            *("options__position", *(f"options__{name}" for name in OPTION_FIELDS)),
        )
    )
)
LAST_POSITION = Select(
    lambda: (
        CartItem.objects.filter(**parameters(CartItem, ["cart_id"]))
        .order_by("-position")
        .values_list("position")[:1]
    )
)
INSERT_ITEMS = Insert(CartItem, ["id", "cart_id", "position", *ITEM_FIELDS, "value"])
INSERT_OPTIONS = Insert(CartItemOption, ["item_id", "position", *OPTION_FIELDS])
INSERT_CHANGE = Insert(CartChange, [field.attname for field in CartChange._meta.concrete_fields])
UPDATE_ITEM = Update(CartItem, [*ITEM_FIELDS, "value"])
DELETE_OPTIONS = Delete(CartItemOption, ["item_id"])
DELETE_ITEM = Delete(CartItem, ["id"])
DELETE_ITEMS = Delete(CartItem, ["cart_id"])
DELETE_OPTIONS_OF_CART = DeleteBelow(CartItemOption, "item_id", CartItem, ["cart_id"])
DELETE_CHANGES = Delete(CartChange, ["cart_id"])
DELETE_CHANGE = Delete(CartChange, ["cart_id", "version"])


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


class CartStatements:
    """The statements about the cart itself. `keys` are the fields by which it is selected."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.insert = Insert(model, [field.attname for field in model._meta.concrete_fields])
        _, *changed = [name for name in CartState._fields if name != "currency"]
        self.update = Update(model, changed)
        self.set = cache(lambda names: Update(model, names))
        self.delete = Delete(model, ["id"])
        self.changeable = Select(lambda: self._carts(("id",)).values_list(*CHANGEABLE))
        self.lock = cache(self._lock)
        self.get_cart = cache(self._get_cart)
        self.page_of_carts = cache(self._page_of_carts)

    def _lock(self, keys: tuple[str, ...]) -> Select:
        """Return the SELECT that locks the cart with these keys: a `CartState`."""
        return Select(lambda: self._carts(keys).select_for_update().values_list(*CartState._fields))

    def _get_cart(self, keys: tuple[str, ...]) -> Select:
        """Return the SELECT of the cart with these keys: a `CartSummary` and its items' JSON."""
        return Select(lambda: self._carts(keys).values_list(*CartSummary._fields, items_json()))

    def _page_of_carts(self, keys: tuple[str, ...], limit: int, *, further: bool) -> Select:
        """Return the SELECT of a page of `CartSummary`, before `cursor` if it is `further`."""

        def page() -> models.QuerySet[models.Model]:
            carts = self._carts(keys).order_by("-id")
            if further:
                carts = carts.filter(id__lt=Parameter("cursor", models.UUIDField()))
            return carts.values_list(*CartSummary._fields)[:limit]

        return Select(page)

    def _carts(self, keys: tuple[str, ...]) -> CartQuerySet:
        return CartQuerySet(self.model).filter(**parameters(self.model, keys))
