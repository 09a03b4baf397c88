"""The database refuses by itself what api/test_values.py shows to be refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import pytest
from django.db import DatabaseError, connection, models, transaction
from django.db.models.expressions import RawSQL

from carts.models import Cart, CartItem, CartItemOption
from carts.models.columns import column, column_names
from carts.records import Item, NewCart, Option
from carts.value_types import ValueType
from cartsvc.db.column_check import ColumnCheck
from cartsvc.member_names import snake_case
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.fields import BLANKS, IGNORABLE, by_kind
from tests.support.table_contents import Unchanged, unguarded_rows

pytestmark = pytest.mark.django_db

Model = type[models.Model]

PIZZA = "\U0001f355"


@dataclass(frozen=True)
class Rule:
    """Values that a column takes, and values that it refuses."""

    takes: Sequence[Any]
    refuses: Sequence[Any]


def line(limit: int) -> Rule:
    return Rule(
        [PIZZA * limit, *(f"{char}x" for char in IGNORABLE)],
        [
            *(None, "", " ", "x" * (limit + 1), PIZZA * (limit + 1)),
            *(blank * 2 for blank in BLANKS),
            *(f"a{char}" for char in "\t\n\0\x1b\x7f\x9b\u2028\u2029"),
        ],
    )


def numbers(lowest: Any, highest: Any, step: Any = 1) -> Rule:
    return Rule([lowest, highest], [None, lowest - step, highest + step])


def paragraph(limit: int) -> Rule:
    return Rule(
        ["", " ", "\t\r\n\u2028\u2029", "x" * limit],
        [None, "x" * (limit + 1), *(f"a{char}" for char in "\0\v\x1b\x7f\x9b")],
    )


def optional(rule: Rule) -> Rule:
    return Rule([None, *rule.takes], [value for value in rule.refuses if value is not None])


CURRENCY = Rule(["CHF"], [None, "", "eur", "EU", "E1R", "EU ", "\u0395UR", "EURO"])
RULES = by_kind(
    optional,
    line=line,
    paragraph=paragraph,
    integer=numbers,
    currency=lambda: CURRENCY,
    price=lambda: numbers(Decimal(0), Decimal("9999999999.9999"), Decimal("0.0001")),
)
MODELS: dict[Model, tuple[str, Any]] = {
    Cart: ("cart", NewCart),
    CartItem: ("item", Item),
    CartItemOption: ("option", Option),
}


def row_of(model: Model) -> Any:
    CartFactory(items=[ItemFactory(options=[OptionFactory()])])
    return model._default_manager.get()


@pytest.mark.parametrize(
    ("model", "field", "rule"),
    [
        pytest.param(model, snake_case(name), rule, id=f"{part}-{name}")
        for model, (part, _) in MODELS.items()
        for name, rule in RULES[part].items()
    ],
)
def test_a_column_takes_what_is_valid_and_nothing_else(
    unchanged: Unchanged, model: Model, field: str, rule: Rule
) -> None:
    row = row_of(model)
    for value in rule.takes:
        unguarded_rows(model).update(**{field: value})
        row.refresh_from_db()
        assert getattr(row, field) == value
    unchanged()
    for value in rule.refuses:
        # Django would call an integer that is too large one of 32 bits, and psycopg cut it.
        sent = RawSQL("%s", [value]) if isinstance(value, int) else value
        # psycopg refuses NUL by itself, SQLite's driver an integer of more than 64 bits.
        with pytest.raises((DatabaseError, ValueError, OverflowError)), transaction.atomic():
            unguarded_rows(model).update(**{field: sent})


def test_a_type_without_a_column_is_an_error() -> None:
    class Unknown(NamedTuple):
        member: Annotated[Any, ValueType()] = None

    with pytest.raises(TypeError, match="There is no column for"):
        column(Unknown, "member")


@pytest.mark.parametrize(("model", "of"), MODELS.items())
def test_every_value_that_is_sent_has_its_rule(model: Model, of: tuple[str, Any]) -> None:
    part, record = of
    assert tuple(map(snake_case, RULES[part])) == column_names(record)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no domains")
@pytest.mark.parametrize("model", MODELS)
def test_no_column_has_lost_the_type_with_its_check(model: Model) -> None:
    """A field's type that is altered with its check in place would be the plain one again."""
    checks = [one for one in model._meta.constraints if isinstance(one, ColumnCheck)]
    columns = {model._meta.get_field(one.field).column: one.name for one in checks}
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT attname, conname FROM pg_attribute JOIN pg_constraint ON contypid = atttypid
            WHERE attrelid = %s::regclass""",
            [model._meta.db_table],
        )
        assert dict(cursor.fetchall()) == columns


def test_two_items_never_stand_in_one_place(unchanged: Unchanged) -> None:
    CartFactory(items=[ItemFactory(), ItemFactory()])
    unchanged()

    with pytest.raises(DatabaseError), transaction.atomic():
        unguarded_rows(CartItem).update(position=0)
