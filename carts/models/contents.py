"""Read a cart's items and options together with the cart, in a single statement.

A single statement sees a consistent snapshot. Under READ COMMITTED, two statements, such as
`prefetch_related` sends, may show half of a change.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from json import JSONDecoder
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db.models import Aggregate, F, Func, Model, OuterRef, QuerySet, Subquery, TextField
from django.db.models.functions import Cast
from django.db.models.sql.compiler import SQLCompiler

# The columns of an item, and below of an option, that a caller sends.
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
ITEM_COLUMNS = ("position", "id", *ITEM_SENT)
OPTION_SENT = ("option_set_key", "option_set_item_key", "display_name", "currency", "price")
OPTION_COLUMNS = ("position", *OPTION_SENT)
ITEM_AMOUNTS = ("price", "quantity")
OPTION_AMOUNTS = ("price",)


def _price(literal: str) -> Decimal:
    """Return the exact price, without the trailing zeros that the column adds."""
    return Decimal(literal.rstrip("0").rstrip("."))


_decode = JSONDecoder(parse_float=_price).decode


class Rows(TextField):
    """A JSON array of rows, decoded with prices as Decimal."""

    def from_db_value(self, value: str | None, *_: Any) -> Any:
        return None if value is None else _decode(value)


class Row(Func):
    """The columns of a row as one JSON array.

    The framework's JSONArray builds JSONB from casts. PostgreSQL then makes a value first and
    writes it as text afterwards, which takes three times as long for a cart of 50 items.
    """

    function = "JSON_BUILD_ARRAY"
    output_field = TextField()

    def as_sqlite(self, compiler: SQLCompiler, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSON_ARRAY", **extra)


class RowsOf(Aggregate):
    """All rows as one JSON array, in no particular order."""

    function = "JSON_AGG"
    output_field = TextField()

    def as_sqlite(self, compiler: SQLCompiler, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSON_GROUP_ARRAY", **extra)


def items_of(
    item_model: type[Model],
    option_model: type[Model],
    item_columns: Sequence[str],
    option_columns: Sequence[str],
) -> Cast:
    """Return the outer cart's items as one array of rows. Each row ends with its options.

    The options are looked up item by item, by their key. A join would be slower while
    PostgreSQL has no statistics yet: it reads the whole table of options, which takes 95 ms
    for a cart among 700,000 options.
    """
    options = _rows(option_model, "item", [F(column) for column in option_columns])
    items = _rows(item_model, "cart", [*map(F, item_columns), Subquery(options)])
    return Cast(Subquery(items), Rows())


def _rows(model: type[Model], parent: str, columns: Sequence[Any]) -> QuerySet[Any]:
    return (
        QuerySet(model)
        .filter(**{parent: OuterRef("pk")})
        .order_by()
        .values(parent)
        .annotate(rows=RowsOf(Row(*columns)))
        .values("rows")
    )


def in_order(rows: Iterable[Sequence[Any]] | None) -> list[Sequence[Any]]:
    """Return the rows sorted by their first column, the position."""
    return sorted(rows or (), key=itemgetter(0))


def assemble(item_rows: Iterable[Sequence[Any]] | None) -> list[dict[str, Any]]:
    """Return the items in order, each with its id, options and value."""
    return [
        {
            **dict(zip(ITEM_COLUMNS, row, strict=False)),
            "id": UUID(row[ID]),
            "options": [
                dict(zip(OPTION_COLUMNS, option, strict=True)) for option in in_order(row[-1])
            ],
            "value": value_of(row),
        }
        for row in in_order(item_rows)
    ]


ID, PRICE, QUANTITY = map(ITEM_COLUMNS.index, ("id", "price", "quantity"))
OPTION_PRICE = OPTION_COLUMNS.index("price")


def item_id(row: Sequence[Any]) -> str:
    """Return the item's id with dashes."""
    text: str = row[ID]
    # SQLite stores a UUID without dashes.
    return text if "-" in text else str(UUID(text))


def value_of(row: Sequence[Any]) -> Decimal:
    """Return what the item of a row costs. The row has `ITEM_COLUMNS`, then its options."""
    return value(row[PRICE], row[QUANTITY], [option[OPTION_PRICE] for option in row[-1] or ()])


def value(price: Decimal, quantity: int, option_prices: Iterable[Decimal]) -> Decimal:
    """Return what an item costs: the sum of its price and its options' prices, times quantity."""
    return (price + sum(option_prices)) * quantity
