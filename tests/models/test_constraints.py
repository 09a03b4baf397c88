"""The database refuses what the validators refuse, also in writes that bypass them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, models, transaction
from django.db.models.expressions import RawSQL

from carts.models import Cart, CartItem, CartItemOption
from carts.models.columns import column_names
from carts.records import Item, NewCart, Option
from carts.validation import checked_changes
from cartsvc.member_names import snake_case
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.fields import by_kind
from tests.support.table_contents import unguarded

pytestmark = pytest.mark.django_db

Model = type[models.Model]

# Unicode's white space without the control characters.
SPACES = [chr(code) for code in range(0xA0, 0x110000) if chr(code).isspace()]
# What nobody can see: an end of each range.
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180f\u200b\u200f\u202a\u202e\u2060\u206f\u3164"
    "\ufe00\ufe0f\ufeff\uffa0\ufff0\ufff8\U0001bca0\U0001d173\U000e0000\U000e0fff\u2800"
)
BLANKS = [*SPACES, *IGNORABLE]
PIZZA = "\U0001f355"


@dataclass(frozen=True)
class Rule:
    """Values that a column takes, and for each validator's code some that it refuses."""

    takes: Sequence[Any]
    refuses: dict[str, Sequence[Any]]


def line(limit: int) -> Rule:
    return Rule(
        [PIZZA * limit, *(f"{char}x" for char in IGNORABLE)],
        {
            "max_length": ["x" * (limit + 1), PIZZA * (limit + 1)],
            "blank": ["", " ", *(blank * 2 for blank in BLANKS)],
            "null": [None],
            "control_character": [f"a{char}" for char in "\t\n\0\x1b\x7f\x9b\u2028\u2029"],
        },
    )


def numbers(lowest: Any, highest: Any, step: Any = 1) -> Rule:
    below, above = lowest - step, highest + step
    return Rule([lowest, highest], {"min_value": [below], "max_value": [above], "null": [None]})


def paragraph(limit: int) -> Rule:
    return Rule(
        ["", " ", "\t\r\n\u2028\u2029", "x" * limit],
        {
            "max_length": ["x" * (limit + 1)],
            "null": [None],
            "control_character": [f"a{char}" for char in "\0\v\x1b\x7f\x9b"],
        },
    )


def optional(rule: Rule) -> Rule:
    refused = {code: values for code, values in rule.refuses.items() if code != "null"}
    return Rule([None, *rule.takes], refused)


CURRENCY = Rule(
    ["CHF"],
    {
        "invalid_currency": ["", "eur", "EU", "E1R", "EU ", "\u0395UR"],
        "max_length": ["EURO"],
    },
)
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
    ("model", "record", "field", "rule"),
    [
        pytest.param(model, record, snake_case(name), rule, id=f"{part}-{name}")
        for model, (part, record) in MODELS.items()
        for name, rule in RULES[part].items()
    ],
)
def test_validators_and_database_agree(
    unchanged: Callable[[], None], model: Model, record: Any, field: str, rule: Rule
) -> None:
    row = row_of(model)
    for value in rule.takes:
        checked_changes(record, {field: value})
        unguarded(model).update(**{field: value})
        row.refresh_from_db()
        assert getattr(row, field) == value
    unchanged()
    for code, values in rule.refuses.items():
        for value in values:
            with pytest.raises(ValidationError) as refused:
                checked_changes(record, {field: value})
            assert [error.code for error in refused.value.error_dict[field]] == [code]
            # Django would call an integer that is too large one of 32 bits, and psycopg cut it.
            sent = RawSQL("%s", [value]) if isinstance(value, int) else value
            # psycopg refuses NUL by itself, SQLite's driver an integer of more than 64 bits.
            with pytest.raises((DatabaseError, ValueError, OverflowError)), transaction.atomic():
                unguarded(model).update(**{field: sent})


@pytest.mark.parametrize(("model", "of"), MODELS.items())
def test_every_value_that_is_sent_has_its_rule(model: Model, of: tuple[str, Any]) -> None:
    part, record = of
    assert tuple(map(snake_case, RULES[part])) == column_names(record)


def test_two_items_never_stand_in_one_place(unchanged: Callable[[], None]) -> None:
    CartFactory(items=[ItemFactory(), ItemFactory()])
    unchanged()

    with pytest.raises(DatabaseError), transaction.atomic():
        unguarded(CartItem).update(position=0)
