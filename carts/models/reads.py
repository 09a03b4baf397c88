"""How carts are read."""

from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

import simplejson
from django.db import models, transaction

from carts.models.guarded import GuardedQuerySet
from carts.models.item import ITEM_FIELDS, OPTION_FIELDS, CartItem, CartItemOption
from cartsvc.camel_case import snake_case
from cartsvc.db.json_text import JsonRows


class CartSummary(NamedTuple):
    """A cart without its items. A page of model instances costs 29 % more."""

    id: UUID
    profile_key: UUID
    partner_key: str
    restaurant_key: int
    platform: str
    ordering_channel: str
    fulfilment_channel: str
    currency: str
    note: str | None
    special_instructions: str | None
    item_count: int
    subtotal: Decimal
    created_on: datetime
    modified_on: datetime
    version: int


def items_json() -> JsonRows:
    """Return the expression of a cart's items, as the JSON objects that Get Cart shows."""
    return JsonRows(
        "pk",
        CartItem,
        CartItemOption,
        identifier="itemId",
        before=ITEM_FIELDS,
        member="options",
        inner=OPTION_FIELDS,
        after=["value"],
    )


def items_of(items: str | None) -> list[dict[str, Any]]:
    """Return the items of a text that `items_json` has made, with the names of the model.

    Numbers with a point come as Decimal, the `item_id` as UUID.
    """
    decoded: list[dict[str, Any]] = simplejson.loads(
        f"[{items or ''}]", use_decimal=True, object_pairs_hook=_in_snake_case
    )
    return decoded


def _in_snake_case(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = {_snake_case(name): value for name, value in pairs}
    if "item_id" in members:
        members["item_id"] = UUID(members["item_id"])
    return members


_snake_case = cache(snake_case)


class CartQuerySet(GuardedQuerySet):
    """Carts to read. To change them, use the manager."""

    def with_items(self) -> "CartQuerySet":
        """Read the items in the same statement, as the text `items_json`. See `items_of`.

        A single statement sees a consistent snapshot. Under READ COMMITTED, two statements, such
        as `prefetch_related` sends, may show half of a change.
        """
        return self.annotate(items_json=items_json())

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete whole carts, with all that belongs to them. No change runs meanwhile."""
        with transaction.atomic():
            keys = list(self.select_for_update().values_list("pk", flat=True))
            return models.QuerySet.delete(self.model.objects.filter(pk__in=keys))
