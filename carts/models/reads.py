"""How carts are read: one of them, pages of a customer's, and what a change looks at."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.core.exceptions import FieldError
from django.db import connection, models
from django.db.models import Case, F, FilteredRelation, Q, Value, When
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from django.utils import timezone

from carts.changeable_fields import CHANGEABLE_CART_FIELDS
from carts.checked_record import maker
from carts.models.cart import Cart
from carts.models.cart_change import decoded
from carts.models.cart_json import JsonMembers, JsonObject, JsonRows
from carts.models.cart_statements import CART_KEYS
from carts.models.cart_status import (
    LAST_MEMBERS,
    OPEN,
    STATUS_COLUMNS,
    CartStatus,
    expires_on,
    has_status,
)
from carts.models.columns import column_names
from carts.models.item import ITEM_COLUMNS, OPTION_COLUMNS, CartItem, CartItemOption
from carts.models.save_guard import GuardedQuerySet
from carts.models.tombstones import KEPT_OF_DELETED
from carts.models.writes import CartRow
from carts.records import Item, NewCart, Option, PlacedItem
from carts.value_types import Values, read_values, stored_record
from cartsvc.db.compiled_statements import Parameter, Rows, Select, parameters
from cartsvc.guids import EPOCH
from cartsvc.member_names import camel_case

# The fields that Get Cart and List Carts add to what was sent, before those of the status.
SHOWN_ONLY = ("subtotal", "created_on", "modified_on", "version")

LOWEST, HIGHEST = UUID(int=0), UUID(int=2**128 - 1)

# A database that is spread by customer sends each statement that names the customer to the one
# node that has all of the customer's rows.
CUSTOMER = Parameter("profile_key", models.UUIDField())

# The moment of the answer: a checkout that has run out by then is shown as open.
MOMENT = Parameter("moment", models.DateTimeField())


def cart_json(**contents: str | JsonRows) -> JsonObject:
    """Return the expression of a cart's JSON, with its `contents` behind what was sent."""
    sent, shown_only = (
        {camel_case(name): name for name in names}
        for names in (("profile_key", *column_names(NewCart)), SHOWN_ONLY)
    )
    *names, expires = LAST_MEMBERS
    as_open, as_stored = (
        JsonMembers(dict(zip(names, members, strict=True)))
        for members in (map(Value, CartStatus(OPEN)), STATUS_COLUMNS)
    )
    return JsonObject(
        {"cartId": "id", **sent, **contents, **shown_only},
        Case(When(closed_until__lte=MOMENT, then=as_open), default=as_stored),
        JsonMembers({expires: expires_on()}),
    )


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

    def filter(self, *args: Any, **conditions: Any) -> Any:
        if "status" in conditions:
            raise FieldError('Write Cart.objects.with_status("open"), or another status.')
        return super().filter(*args, **conditions)

    def with_items(self) -> "CartQuerySet":
        """Read the items in the same statement, as the text `items_json`, for `items_of`.

        A single statement sees a consistent snapshot. Under READ COMMITTED, two statements, such
        as `prefetch_related` sends, may show half of a change.
        """
        return self.annotate(items_json=items_json(F("profile_key"), str, position="position"))

    def with_status(self, status: str) -> "CartQuerySet":
        """Read the carts that have the status now. It is no column, because checkouts run out."""
        return self.filter(has_status(status, timezone.now()))


def carts_with(
    column: str, value: object, above: UUID = LOWEST, below: UUID = HIGHEST
) -> CartQuerySet:
    """Return the carts with that value, oldest first, as one range of the column's index.

    The condition compares pairs of column and id. With a plain condition on the column, the
    database may walk along the primary key instead, past all carts with another value.
    """
    pair = Tuple(F(column), F("id"))
    between = TupleGreaterThan(pair, (value, above)), TupleLessThan(pair, (value, below))
    return Cart.objects.filter(*between).order_by(column, "id")


def carts_by(keys: Iterable[str]) -> CartQuerySet:
    """Return the carts with these `keys`, whose values are given when the statement runs."""
    return CartQuerySet(Cart).filter(**parameters(Cart, keys))


@cache
def select_cart(keys: tuple[str, ...]) -> Select:
    """Return the SELECT of the cart with these `keys`: its version and JSON."""
    items = items_json(CUSTOMER if "profile_key" in keys else F("profile_key"))
    json = cart_json(items=items)
    return Select(lambda: carts_by(keys).values_list("version", json))


@lru_cache(maxsize=100)  # callers choose the limit and the status
def select_summaries(
    keys: tuple[str, ...],
    limit: int,
    status: str | None,
    *,
    further: bool,
    by_change: bool,
) -> Select:
    """Return the SELECT of a page: ids, JSON and times; beyond a cart if it is `further`."""
    cart_id, at = Parameter("cart_id", models.UUIDField()), Parameter("at", models.DateTimeField())

    def page() -> models.QuerySet[Cart]:
        order = [*["-modified_on"][:by_change], "-id"]
        carts = carts_by(keys).order_by(*order)
        if further:
            beyond = Q(id__lt=cart_id)
            if by_change:
                beyond = Q(modified_on__lt=at) | Q(modified_on=at) & beyond
            carts = carts.filter(beyond)
        if status:
            carts = carts.filter(has_status(status, MOMENT))
        carts = carts[:limit]
        # Of the creation, an index has the order.
        if by_change and connection.computes_before_limiting:  # type: ignore[attr-defined]
            carts = carts_by(keys).filter(id__in=carts.values("id")).order_by(*order)
        shown = cart_json(itemCount="item_count")
        return carts.values_list("id", shown, *["modified_on"][:by_change])

    return Select(page)


@cache
def select_and_lock(keys: tuple[str, ...]) -> Select:
    columns = CartRow._fields[1:]
    return Select(lambda: carts_by(keys).select_for_update().values_list(*columns))


def _select_items(**one: models.Expression) -> Select:
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
        values["options"] = tuple(map(maker(Option), [row[end + 1 :] for row in chosen]))
        yield PlacedItem(item_id, position, Item._make(map(values.get, Item._fields)), value)


class PageCursor(NamedTuple):
    """Where a list that is in order of time goes on. Its text is what callers send back."""

    at: datetime
    cart_id: UUID
    version: int = 0

    def __str__(self) -> str:
        return f"{(self.at - EPOCH) // timedelta(microseconds=1)}.{self.cart_id.hex}.{self.version}"

    @classmethod
    def parsed(cls, text: str, mark: str = "") -> Self | None:
        """Return the cursor with this text behind the `mark` of its list, or None."""
        form = rf"{mark}([0-9]{{1,16}})\.([0-9a-f]{{32}})\.([0-9]{{1,18}})"
        if not (found := re.fullmatch(form, text)):
            return None
        microseconds, key, version = found.groups()
        return cls(EPOCH + timedelta(microseconds=int(microseconds)), UUID(key), int(version))
