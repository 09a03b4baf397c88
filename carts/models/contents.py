"""Read a cart's items and options together with the cart, in a single statement.

A single statement is a consistent snapshot; two statements under READ COMMITTED,
such as `prefetch_related` sends, may show half of a change.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from json import JSONDecoder
from typing import Any
from uuid import UUID

from django.db.models import Aggregate, F, Func, JSONField, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONArray
from django.db.models.sql.compiler import SQLCompiler

# What a caller sends of an item.
ITEM_SENT = (
    "menu_key",
    "menu_version",
    "menu_item_key",
    "display_name",
    "currency",
    "price",
    "quantity",
    "special_instructions",
)
ITEM_COLUMNS = ("id", "position", *ITEM_SENT)
OPTION_COLUMNS = (
    "position",
    "option_set_key",
    "option_set_item_key",
    "display_name",
    "currency",
    "price",
)
ITEM_AMOUNTS = ("price", "quantity")
OPTION_AMOUNTS = ("price",)


class ExactDecoder(JSONDecoder):
    """Prices stay Decimal on their way through JSON."""

    def __init__(self) -> None:
        super().__init__(parse_float=Decimal)


class Row(JSONArray):
    """The columns of a row as one JSON array."""

    def as_sqlite(self, compiler: SQLCompiler, connection: Any, **extra: Any) -> Any:
        # Django would ask whether SQLite has JSON, by a transaction that waits for writers
        # and, when it has waited in vain, is remembered by the connection as "no".
        return Func.as_sql(self, compiler, connection, **extra)


class JSONArrayAgg(Aggregate):
    """All rows as one JSON array; the order of its elements is not defined."""

    function = "JSONB_AGG"
    output_field = JSONField(decoder=ExactDecoder)

    def as_sqlite(self, compiler: SQLCompiler, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSON_GROUP_ARRAY", **extra)


class SettledSubquery(Subquery):
    """A subquery that holds nothing of a request: resolved once, and compiled once.

    Both were more than half of what a read took.
    """

    is_copy = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.compiled: dict[str, Any] = {}
        self.resolved: Any = None

    def copy(self) -> Any:
        # A copy is what the framework changes for the query that it is to be part of.
        clone = super().copy()
        clone.compiled, clone.is_copy = {}, True
        return clone

    def resolve_expression(  # type: ignore[override]
        self, query: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if self.is_copy:
            return super().resolve_expression(query, *args, **kwargs)
        self.resolved = self.resolved or super().resolve_expression(query, *args, **kwargs)
        # Resolving tells the query which aliases are taken.
        query.subq_aliases |= self.resolved.query.subq_aliases
        return self.resolved

    def as_sql(  # type: ignore[override]
        self, compiler: SQLCompiler, connection: Any, **extra: Any
    ) -> Any:
        if connection.vendor not in self.compiled:
            self.compiled[connection.vendor] = super().as_sql(compiler, connection, **extra)
        return self.compiled[connection.vendor]


@cache
def items_of(
    item_model: type[Model],
    option_model: type[Model],
    item_columns: Sequence[str],
    option_columns: Sequence[str],
) -> Subquery:
    """Return the outer cart's items as one array of rows, each row with its options at the end.

    The options are looked up item by item, by their key. For a join with the items,
    PostgreSQL reads the whole table of options while it has no statistics of it yet: 95 ms
    for a cart among 700,000 options.
    """
    options = _rows(option_model, "item", [F(column) for column in option_columns])
    return SettledSubquery(_rows(item_model, "cart", [*map(F, item_columns), Subquery(options)]))


def _rows(model: type[Model], parent: str, columns: Sequence[Any]) -> QuerySet[Any]:
    return (
        QuerySet(model)
        .filter(**{parent: OuterRef("pk")})
        .order_by()
        .values(parent)
        .annotate(rows=JSONArrayAgg(Row(*columns)))
        .values("rows")
    )


def assemble(item_rows: Iterable[Sequence[Any]] | None) -> list[dict[str, Any]]:
    """Return the items in their order, each with its options in theirs and its value."""
    items = []
    for row in item_rows or ():
        item = dict(zip(ITEM_COLUMNS, row, strict=False))
        options = [dict(zip(OPTION_COLUMNS, option, strict=True)) for option in row[-1] or ()]
        item["options"] = sorted(options, key=_position)
        # SQLite keeps a UUID without its dashes.
        item["id"] = UUID(item["id"])
        item["value"] = value(
            item["price"], item["quantity"], (option["price"] for option in options)
        )
        items.append(item)
    return sorted(items, key=_position)


def _position(row: dict[str, Any]) -> int:
    return row["position"]


def amounts(item_rows: Iterable[Sequence[Any]] | None) -> Iterator[Decimal]:
    """Yield the value of each item, in no particular order."""
    for price, quantity, options in item_rows or ():
        yield value(price, quantity, (price for (price,) in options or ()))


def value(price: Decimal, quantity: int, option_prices: Iterable[Decimal]) -> Decimal:
    """Return what an item costs: its price and its options' prices, times its quantity."""
    return (price + sum(option_prices)) * quantity
