"""How carts are read: one of them, and pages of a customer's."""

from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import simplejson
from django.db import connection, models, transaction
from django.db.models import F

from carts.models.guarded import GuardedQuerySet
from carts.models.item import ITEM_FIELDS, OPTION_FIELDS, CartItem, CartItemOption
from cartsvc.camel_case import camel_case, snake_case
from cartsvc.db.json_text import JsonObject, JsonRows
from cartsvc.db.statements import Parameter, Select, delete_in_shards, parameters

# The members of a cart in Get Cart and List Carts, before and after what it holds.
HEAD = (
    *("profile_key", "partner_key", "restaurant_key", "platform", "ordering_channel"),
    *("fulfilment_channel", "currency", "note", "special_instructions"),
)
TAIL = ("subtotal", "created_on", "modified_on", "version")

# A database that is spread by customer sends each statement that names the customer to the one
# node that has all of the customer's rows.
CUSTOMER = Parameter("profile_key", models.UUIDField())


def cart_json(**contents: Any) -> JsonObject:
    """Return the expression of a cart as a JSON object, with `contents` by their names in it."""
    head, tail = ({camel_case(name): name for name in names} for names in (HEAD, TAIL))
    return JsonObject({"cartId": "id", **head, **contents, **tail})


def items_json(customer: models.Expression | F) -> JsonRows:
    """Return the expression of a cart's items, as the JSON array that Get Cart shows.

    `customer` is the cart's profile key: a column, or a value.
    """
    fields, inner = (
        {camel_case(name): name for name in names} for names in (ITEM_FIELDS, OPTION_FIELDS)
    )
    options = (CartItemOption, inner)
    return JsonRows(
        customer, CartItem, {"itemId": "id", **fields, "options": options, "value": "value"}
    )


def items_of(items: str) -> list[dict[str, Any]]:
    """Return the items of a text that `items_json` has made, with the names of the model.

    Numbers with a point come as Decimal, the `item_id` as UUID.
    """
    decoded: list[dict[str, Any]] = simplejson.loads(
        items, use_decimal=True, object_pairs_hook=_in_snake_case
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
        return self.annotate(items_json=items_json(F("profile_key")))

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete whole carts, with all that belongs to them. No change runs meanwhile."""
        database: Any = connection  # a backend of cartsvc.db
        if database.is_distributed:
            gone = delete_in_shards(self)
            return gone, {self.model._meta.label: gone}
        with transaction.atomic():
            keys = list(self.select_for_update().values_list("pk", flat=True))
            return models.QuerySet.delete(self.model.objects.filter(pk__in=keys))


def carts_by(model: type[models.Model], keys: tuple[str, ...]) -> CartQuerySet:
    """Return the carts that have the values of these fields, which are given later."""
    return CartQuerySet(model).filter(**parameters(model, keys))


@cache
def get_cart(model: type[models.Model], keys: tuple[str, ...]) -> Select:
    """Return the SELECT of the cart with these `keys`: its version, and the JSON of Get Cart."""
    json = cart_json(items=items_json(CUSTOMER if "profile_key" in keys else F("profile_key")))
    return Select(lambda: carts_by(model, keys).values_list("version", json))


@cache
def page_of_carts(
    model: type[models.Model], keys: tuple[str, ...], limit: int, *, further: bool
) -> Select:
    """Return the SELECT of a page of ids and JSON, before `cursor` if it is `further`."""

    def page() -> models.QuerySet[models.Model]:
        carts = carts_by(model, keys).order_by("-id")
        if further:
            carts = carts.filter(id__lt=Parameter("cursor", models.UUIDField()))
        return carts.values_list("id", cart_json(itemCount="item_count"))[:limit]

    return Select(page)


def first_key_at(moment: datetime) -> UUID:
    """Return the lowest key that can be made at `moment`. UUIDv7 begins with its milliseconds."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)
