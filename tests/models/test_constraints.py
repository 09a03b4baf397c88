"""The database refuses what the validators refuse, also in writes that bypass them."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, models, transaction
from django.db.models import CheckConstraint, F

from carts.models import Cart, CartItem, CartItemOption
from carts.models.item import sent_fields
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.stored import unguarded

pytestmark = pytest.mark.django_db

Model = type[models.Model]

# Unicode's white space without the control characters.
BLANKS = [chr(code) for code in range(0xA0, 0x110000) if chr(code).isspace()]
INT32, INT64 = 2**31, 2**63
LINES = {
    Cart: {"partner_key": 4, "platform": 50, "ordering_channel": 50, "fulfilment_channel": 50},
    CartItem: {"menu_key": 20, "display_name": 100},
    CartItemOption: {"display_name": 100},
}
PARAGRAPHS = {
    Cart: {"note": 300, "special_instructions": 300},
    CartItem: {"special_instructions": 300},
}
INT32S = {Cart: ["restaurant_key"], CartItem: ["menu_version"]}
INT64S = {CartItem: ["menu_item_key"], CartItemOption: ["option_set_key", "option_set_item_key"]}
PRICED: list[Model] = [CartItem, CartItemOption]


def bad_values() -> list[Any]:
    """Return (model, field, value, validator's code) for every rule."""
    found: list[tuple[Any, str, Any, str]] = []
    for model, lines in LINES.items():
        for field, limit in lines.items():
            found += [
                (model, field, "x" * (limit + 1), "max_length"),
                (model, field, "\U0001f355" * (limit + 1), "max_length"),
                (model, field, "", "blank"),
                (model, field, " ", "blank"),
                (model, field, None, "null"),
                *[(model, field, f"a{char}", "control_character") for char in "\t\n\0\x1b\x7f\x9b"],
            ]
    for model, paragraphs in PARAGRAPHS.items():
        for field, limit in paragraphs.items():
            found += [
                (model, field, "x" * (limit + 1), "max_length"),
                *[(model, field, f"a{char}", "control_character") for char in "\0\v\x1b\x7f\x9b"],
            ]
    for model in (Cart, CartItem, CartItemOption):
        found += [
            (model, "currency", code, "invalid_currency")
            for code in ("eur", "EU", "E1R", "EU ", "\u0395UR")
        ]
        found += [(model, "currency", "EURO", "max_length"), (model, "currency", "", "blank")]
    for bounds, fields in ((INT32, INT32S), (INT64, INT64S)):
        for model, names in fields.items():
            found += [
                case
                for field in names
                for case in (
                    (model, field, bounds, "max_value"),
                    (model, field, -bounds - 1, "min_value"),
                    (model, field, None, "null"),
                )
            ]
    for model in PRICED:
        found += [
            (model, "price", Decimal("-0.0001"), "min_value"),
            (model, "price", Decimal(10_000_000_000), "max_value"),
            (model, "price", None, "null"),
        ]
    found += [
        (CartItem, "quantity", 0, "min_value"),
        (CartItem, "quantity", -1, "min_value"),
        (CartItem, "quantity", 10_000, "max_value"),
        (CartItem, "quantity", None, "null"),
    ]
    return [
        pytest.param(*case, id=f"{case[0].__name__}-{case[1]}-{case[3]}-{str(case[2])[:4]!r}")
        for case in found
    ]


def row_of(model: Model) -> Any:
    CartFactory(items=[ItemFactory(options=[OptionFactory()])])
    return model._default_manager.get()


@pytest.mark.parametrize(("model", "field", "value", "code"), bad_values())
def test_validators_and_database_refuse_the_same(
    unchanged: Callable[[], None], model: Model, field: str, value: Any, code: str
) -> None:
    row = row_of(model)
    unchanged()

    setattr(row, field, value)
    with pytest.raises(ValidationError) as error:
        row.clean_fields()
    assert code in {problem.code for problem in error.value.error_dict[field]}

    # psycopg refuses NUL by itself, SQLite's driver an integer of more than 64 bits.
    with pytest.raises((DatabaseError, ValueError, OverflowError)), transaction.atomic():
        unguarded(model).update(**{field: value})


@pytest.mark.parametrize(
    ("model", "field"), [(model, field) for model, fields in LINES.items() for field in fields]
)
def test_no_line_is_made_of_white_space(
    unchanged: Callable[[], None], model: Model, field: str
) -> None:
    row = row_of(model)
    unchanged()

    for blank in BLANKS:
        setattr(row, field, blank * 2)
        with pytest.raises(ValidationError):
            row.clean_fields()
        with pytest.raises(DatabaseError), transaction.atomic():
            unguarded(model).update(**{field: blank * 2})


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        *[(model, name, "\U0001f355" * n) for model in LINES for name, n in LINES[model].items()],
        *[
            (model, name, value)
            for model, fields in PARAGRAPHS.items()
            for name in fields
            for value in (None, "", " ", "\t\r\n", "x" * 300)
        ],
        *[
            (model, name, value)
            for bounds, fields in ((INT32, INT32S), (INT64, INT64S))
            for model, names in fields.items()
            for name in names
            for value in (-bounds, bounds - 1)
        ],
        *[
            (model, "price", value)
            for model in PRICED
            for value in (Decimal(0), Decimal("0.0001"), Decimal("9999999999.9999"))
        ],
        (CartItem, "quantity", 1),
        (CartItem, "quantity", 9_999),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value)[:20],
)
def test_validators_and_database_take_the_same(model: Model, field: str, value: Any) -> None:
    row = row_of(model)

    setattr(row, field, value)
    row.clean_fields()
    unguarded(model).update(**{field: value})

    row.refresh_from_db()
    assert getattr(row, field) == value


def columns(model: Model) -> set[str]:
    """Return the columns whose values come from a caller."""
    fields = (model._meta.get_field(name) for name in sent_fields(model))
    return {field.name for field in fields if field.validators}


@pytest.mark.parametrize("model", [Cart, CartItem, CartItemOption])
def test_every_validator_has_a_named_constraint_behind_it(model: Model) -> None:
    table = model._meta.db_table
    names = {
        constraint.name
        for constraint in model._meta.constraints
        if isinstance(constraint, CheckConstraint)
    }
    # The columns hold 64 bits on both databases.
    for column in columns(model) - set(INT64S.get(model, [])):
        rules = [name for name in names if name.startswith(f"{table}_{column}_")]
        assert len(rules) == 1, column
        assert rules[0].removeprefix(f"{table}_{column}_") in {
            "line",
            "paragraph",
            "range",
            "code",
        }
    assert len(names) == len(columns(model) - set(INT64S.get(model, [])))


@pytest.mark.parametrize("model", [Cart, CartItem, CartItemOption])
def test_the_constraints_are_in_the_database(model: Model) -> None:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, model._meta.db_table)

    assert {constraint.name for constraint in model._meta.constraints} <= set(found)


def test_two_items_never_stand_in_one_place(unchanged: Callable[[], None]) -> None:
    CartFactory(items=[ItemFactory(), ItemFactory()])
    unchanged()

    with pytest.raises(DatabaseError), transaction.atomic():
        unguarded(CartItem).update(position=0)


def test_rows_made_past_the_writes_are_checked_as_well(unchanged: Callable[[], None]) -> None:
    item = row_of(CartItem)
    unchanged()
    option = CartItemOption(
        item=item, position=9, option_set_key=1, option_set_item_key=1, display_name=" "
    )
    option.currency, option.price = "EUR", Decimal(1)

    with pytest.raises(DatabaseError), transaction.atomic():
        unguarded(CartItemOption).bulk_create([option])
    with pytest.raises(DatabaseError), transaction.atomic():
        unguarded(CartItem).update(quantity=F("quantity") - 2)
