"""How carts are read: one of them, and pages of a customer's."""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from carts.cart_errors import CartNotFound
from carts.models.cart_change import Author, decoded
from carts.models.cart_json_sql import JsonObject, JsonRows
from carts.models.cart_status import has_status, status_columns, with_status
from carts.models.columns import column_names
from carts.models.item import OPTION_COLUMNS, CartItem, CartItemOption
from carts.models.page_cursor import PageCursor
from carts.models.save_guard import GuardedQuerySet
from carts.record_types import Values, read_values, stored_record
from carts.records import Item, NewCart, PlacedItem
from cartsvc.db.compiled_statements import Parameter, Select, parameters
from cartsvc.member_names import camel_case

# The fields that Get Cart and List Carts add to what was sent, before those of `with_status`.
SHOWN_ONLY = ("subtotal", "created_on", "modified_on", "version")

# A database that is spread by customer sends each statement that names the customer to the one
# node that has all of the customer's rows.
CUSTOMER = Parameter("profile_key", models.UUIDField())


def cart_json(**contents: Any) -> JsonObject:
    """Return the expression of a cart's JSON with further members. `with_status` completes it."""
    sent, shown_only = (
        {camel_case(name): name for name in names}
        for names in (("profile_key", *column_names(NewCart)), SHOWN_ONLY)
    )
    return JsonObject({"cartId": "id", **sent, **contents, **shown_only})


def items_json(
    customer: models.Expression | F, named: Callable[[str], str] = camel_case, **more: str
) -> JsonRows:
    """Return the expression of a cart's items, as the JSON array that Get Cart shows.

    `customer` is the cart's profile key: a column, or a value. `named` turns a field's name
    into the member's. `more` are further columns, by their members.
    """
    members: Values = {named(name): name for name in Item._fields}
    members["options"] = CartItemOption, {named(name): name for name in OPTION_COLUMNS}
    whole = {named("item_id"): "id", **members, "value": "value", **more}
    return JsonRows(customer, CartItem, whole)


def items_of(items: str) -> dict[UUID, PlacedItem]:
    """Return the items in the text of `with_items`, by their ids."""
    placed = (
        PlacedItem(
            UUID(members["item_id"]),
            members["position"],
            stored_record(Item, read_values(Item, members)),
            Decimal(members["value"]),
        )
        for members in decoded(items)
    )
    return {one.id: one for one in placed}


class CartQuerySet(GuardedQuerySet):
    """Carts to read. To change them, use the manager."""

    def with_items(self) -> "CartQuerySet":
        """Read the items in the same statement, as the text `items_json`, for `items_of`.

        A single statement sees a consistent snapshot. Under READ COMMITTED, two statements, such
        as `prefetch_related` sends, may show half of a change.
        """
        return self.annotate(items_json=items_json(F("profile_key"), str, position="position"))


def carts_by(model: type[models.Model], keys: tuple[str, ...]) -> CartQuerySet:
    """Return the carts with these `keys`, whose values are given when the statement runs."""
    return CartQuerySet(model).filter(**parameters(model, keys))


@cache
def select_cart(
    model: type[models.Model], keys: tuple[str, ...], columns: tuple[str, ...]
) -> Select:
    """Return the SELECT of the cart with these `keys`: its version, JSON, and `columns`."""
    json = cart_json(items=items_json(CUSTOMER if "profile_key" in keys else F("profile_key")))
    return Select(lambda: carts_by(model, keys).values_list("version", json, *columns))


@lru_cache(maxsize=100)  # callers choose the limit and the status
def select_summaries(
    model: type[models.Model],
    keys: tuple[str, ...],
    limit: int,
    status: str | None,
    columns: tuple[str, ...],
    *,
    further: bool,
    by_change: bool,
) -> Select:
    """Return the SELECT of a page: ids, JSON, and `columns`; beyond a cart if it is `further`."""
    cart_id, at = Parameter("cart_id", models.UUIDField()), Parameter("at", models.DateTimeField())

    def page() -> models.QuerySet[models.Model]:
        carts = carts_by(model, keys).order_by(*["-modified_on"][:by_change], "-id")
        if further:
            beyond = Q(id__lt=cart_id)
            if by_change:
                beyond = Q(modified_on__lt=at) | Q(modified_on=at) & beyond
            carts = carts.filter(beyond)
        if status:
            carts = carts.filter(has_status(status, Parameter("moment", models.DateTimeField())))
        return carts.values_list("id", cart_json(itemCount="item_count"), *columns)[:limit]

    return Select(page)


class CartReader(models.Manager.from_queryset(CartQuerySet)):  # type: ignore[misc]
    """Reads carts: all of them, or those that `by` has narrowed them to."""

    author: Author | None = None
    keys: Mapping[str, object] = {}
    moment: datetime | None = None  # of changes, if not now

    def get_queryset(self) -> CartQuerySet:
        return CartQuerySet(self.model, using=self._db).filter(**self.keys)

    def version_and_json(self, cart_id: UUID) -> tuple[int, str]:
        """Return the cart's version and the JSON text that Get Cart shows."""
        keys = {**self.keys, "id": cart_id}
        statement = select_cart(self.model, tuple(keys), status_columns())
        for version, text, *status in statement.rows(**keys):
            return version, with_status(text, status, self.current_time())
        raise CartNotFound

    def current_time(self) -> datetime:
        return self.moment or timezone.now()

    def current_version(self, cart_id: UUID) -> int | None:
        """Return the version; None if its checkout has run out, so that it shows another status."""
        lasts = Q(closed_until=None) | Q(closed_until__gt=self.current_time())
        return self.filter(lasts, pk=cart_id).values_list("version", flat=True).first()

    def summaries(
        self,
        limit: int,
        cursor: UUID | PageCursor | None = None,
        status: str | None = None,
        *,
        by_change: bool = False,
    ) -> list[tuple[UUID | PageCursor, str]]:
        """Return the cursors and JSON texts of up to `limit` carts, those beyond the `cursor`."""
        columns = ("modified_on",) * by_change + status_columns()
        statement = select_summaries(
            self.model,
            tuple(self.keys),
            limit,
            status,
            columns,
            further=cursor is not None,
            by_change=by_change,
        )
        moment = self.current_time()
        at, cart_id = cursor[:2] if isinstance(cursor, PageCursor) else (None, cursor)
        rows = statement.rows(cart_id=cart_id, at=at, moment=moment, **self.keys)
        if by_change:
            return [
                (PageCursor(at, key), with_status(text, own, moment))
                for key, text, at, *own in rows
            ]
        return [(key, with_status(text, own, moment)) for key, text, *own in rows]
