"""The values of every field, in every place of every operation: what is kept, what is refused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from tests.api.fields_in_requests import CHANGEABLE, PLACES, Place, Target, everywhere, raw
from tests.support import bodies
from tests.support.answers import assert_refused, errors_of
from tests.support.callers import Api
from tests.support.fields import BLANKS, IGNORABLE, by_kind
from tests.support.not_sent import NOT_SENT
from tests.support.table_contents import Unchanged

Refused = tuple[Any, str, str, Mapping[str, object]]


@dataclass(frozen=True)
class Rule:
    """What a field keeps, as pairs of the value sent and the value read, and what it refuses."""

    kept: Sequence[tuple[Any, Any]]
    refused: Sequence[Refused]


ABSENT: list[Refused] = [
    (NOT_SENT, "required", "This field is required.", {}),
    (None, "null", "This field must not be null.", {}),
]
OTHER_TYPES = {
    "a string": ["5", "", "[]"],
    "a number": [5, 5.5],
    "a boolean": [True, False],
    "an array": [[], [5], ["EUR"]],
    "an object": [{}, {"0": {}}],
}


def each(values: Iterable[Any], code: str, told: str, **facts: object) -> list[Refused]:
    """Return that each of the values is refused with this code, text and facts."""
    return [(value, code, told, facts) for value in values]


def of_another_type(wanted: str, *mine: str) -> list[Refused]:
    return [
        refused
        for name, values in OTHER_TYPES.items()
        if name not in mine
        for refused in each(values, "invalid_type", f"This must be {wanted}, not {name}.")
    ]


PIZZA = "\U0001f355"
AS_SENT = " \u00a0x \u3000e\u0301\u00e9\ufb01\u200b\ufeff\\%'\"%s {0}</b> "
# Unicode Cc and the lone surrogates; the breaks are Cc, too.
BREAKS = "\t\n\r"
SEPARATORS = "\u2028\u2029"
COMMANDS = ["\0", "\x1b", "\x7f", "\x9b", "\udfff"]
ALL_COMMANDS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - set(BREAKS)
ALL_COMMANDS |= {"\ud800"}


def holding(character: str) -> Refused:
    point = f"U+{ord(character):04X}"
    text = f"This text holds {point}: a control character, separator or lone surrogate."
    return f"a{character}b", "control_character", text, {}


def longer_than(limit: int, *texts: str) -> list[Refused]:
    told = f"This text must not be longer than {limit} characters; it has {{}}."
    return [
        (text, "max_length", told.format(len(text)), {"limit": limit, "length": len(text)})
        for text in texts
    ]


def text(limit: int) -> Rule:
    return Rule(
        [(sent, sent) for sent in ("x" * limit, PIZZA * limit, AS_SENT[:limit])],
        [
            *longer_than(limit, "x" * (limit + 1), PIZZA * (limit + 1)),
            *map(holding, COMMANDS),
            *of_another_type("a string", "a string"),
        ],
    )


def line(limit: int) -> Rule:
    """A required text without breaks."""
    rule, blanks = text(limit), ("", " ", "\u200b", "\u2800", "\u00a0\u202e"[:limit])
    refused = [*ABSENT, *each(blanks, "blank", "This text must not be blank.")]
    return Rule(rule.kept, [*rule.refused, *refused, *map(holding, BREAKS + SEPARATORS)])


def paragraph(limit: int) -> Rule:
    """A text that may have breaks and be blank."""
    rule = text(limit)
    broken = [f"{each}a{each}b{each}" for each in (*BREAKS, *SEPARATORS, "\r\n")]
    kept = [(sent, sent) for sent in ("", " ", "\n", "\t\r\n", *broken)]
    return Rule([*rule.kept, *kept], [*rule.refused, *ABSENT])


def optional(rule: Rule) -> Rule:
    absent = [(NOT_SENT, None), (None, None)]
    return Rule([*rule.kept, *absent], [each for each in rule.refused if each not in ABSENT])


NO_CURRENCIES = ("eur", "EU", "", "978", "E R", "E1R", "EU ", "\u0395UR", "E\n")
NO_CURRENCY = "This is not an upper-case currency code of ISO 4217, such as EUR."
CURRENCY = Rule(
    [],
    [
        *ABSENT,
        *of_another_type("a string", "a string"),
        *longer_than(3, "EURO", "EUR ", "E" * 100_000),
        *each(NO_CURRENCIES, "invalid_currency", NO_CURRENCY),
    ],
)


def integer(lowest: int, highest: int) -> Rule:
    fives = ("5.0", "5e0", "0.5e1", "50e-1", "5.000000000000000000000")
    highests = (f"{highest}", f"{highest}.0", f"{highest}0e-1")
    fractions = ("5.5", "5.0000000000000001", "1e-300", "55e-1")
    below = (lowest - 1, -(10**30), raw("-1e300"), -(10**4_299))
    above = (highest + 1, 10**30, raw("1e300"), 10**308, 10**4_299)
    return Rule(
        [
            (lowest, lowest),
            *((raw(literal), highest) for literal in highests),
            *((raw(five), 5) for five in fives),
        ],
        [
            *ABSENT,
            *of_another_type("an integer", "a number"),
            *each(below, "min_value", f"This number must not be below {lowest}.", limit=lowest),
            *each(above, "max_value", f"This number must not be above {highest}.", limit=highest),
            *each(map(raw, fractions), "invalid_type", "This must be an integer, not a number."),
        ],
    )


KEPT_PRICES = {
    "0": ["0", "0.0", "-0", "-0.0", "0e9"],
    "5": ["5", "5.0000000000000000000000000000000000000000"],
    "100": ["1e2"],
    "150": ["1.5E+2"],
    "10.1": ["10.10", "10.100000000000001"],
    "0.3": ["0.30000000000000004"],
    "1": ["1.0000000000000002"],
    "7.2": ["7.199999999999999"],
    "0.0001": ["0.0001", "1e-4", "0.00010000"],
    "1234567890.1234": ["1234567890.1234"],
    # The next double, too.
    "9999999999.9999": ["9999999999.9999", "9999999999.999902", "99999999999999e-4"],
}
NEGATIVE = ("-1", "-0.0001", "-1e-300", "-1e300", "-" + "1" * 4_300)
TOO_HIGH = ("10000000000", "9999999999.99991", "1e10", "1e300", "1" * 300, "1" * 4_300)
TOO_FINE = [
    *("0.00001", "10.12345", "10.99999", "1e-5", "1e-300", "1e-400", "1e-2000000"),
    *("0.1234567890123456789", "9999999999.99985", "1e-99999999999999999999"),
]
PRICE = Rule(
    [(raw(literal), Decimal(price)) for price, sent in KEPT_PRICES.items() for literal in sent],
    [
        *ABSENT,
        *of_another_type("a number", "a number"),
        *each(map(raw, NEGATIVE), "min_value", "A price must not be below 0.", limit=0),
        *each(
            map(raw, TOO_HIGH),
            "max_value",
            "A price must not be above 9999999999.9999.",
            limit=9999999999.9999,
        ),
        *each(
            map(raw, TOO_FINE),
            "too_many_decimals",
            "A price must not have more than 4 decimals.",
            limit=4,
        ),
    ],
)
ARRAY = Rule([(NOT_SENT, []), (None, []), ([], [])], of_another_type("an array", "an array"))

RULES = by_kind(
    optional,
    line=line,
    paragraph=paragraph,
    integer=integer,
    currency=lambda: CURRENCY,
    price=lambda: PRICE,
    list=lambda _: ARRAY,
)


def makes_a_difference(place: Place, sent: Any) -> bool:
    """Return False for what is left out of a change: nothing is demanded, nothing changed."""
    return sent is not NOT_SENT or place not in CHANGEABLE


@pytest.fixture
def target(api: Api, place: Place) -> Target:
    return Target(api, place)


@pytest.mark.parametrize(("place", "field", "rule"), everywhere(RULES))
def test_what_is_kept(target: Target, place: Place, field: str, rule: Rule) -> None:
    for sent, kept in rule.kept:
        if makes_a_difference(place, sent):
            assert (sent, target.value_after(field, target.send(**{field: sent}))) == (sent, kept)


@pytest.mark.parametrize(("place", "field", "rule"), everywhere(RULES))
def test_what_is_refused(
    target: Target, unchanged: Unchanged, place: Place, field: str, rule: Rule
) -> None:
    for sent, code, told, facts in rule.refused:
        if makes_a_difference(place, sent):
            target.refuses(code, told, facts, **{field: sent})


@pytest.mark.parametrize("place", [Place("Create Cart", "cart")])
@pytest.mark.parametrize("field", ["platform", "note"])
def test_refuses_every_control_character(target: Target, unchanged: Unchanged, field: str) -> None:
    for sent, code, told, facts in map(holding, ALL_COMMANDS):
        target.refuses(code, told, facts, **{field: sent})


@pytest.mark.parametrize("place", [Place("Create Cart", "cart")])
def test_a_required_text_holds_something_that_can_be_seen(target: Target) -> None:
    for sent in BLANKS:
        target.refuses("blank", "This text must not be blank.", {}, platform=sent * 2)
    for sent in IGNORABLE:
        assert target.value_after("platform", target.send(platform=f"{sent}x")) == f"{sent}x"


LISTS = everywhere({"cart": {"items": None}, "item": {"options": None}})


@pytest.mark.parametrize(("place", "field", "nothing"), LISTS)
def test_a_list_holds_objects(
    target: Target, unchanged: Unchanged, place: Place, field: str, nothing: None
) -> None:
    for name, values in {**OTHER_TYPES, "null": [None]}.items():
        if name != "an object":
            response = target.send(**{field: [values[0]]})
            text = f"This must be an object, not {name}."
            assert_refused(response, 400, "invalid_type", text, f"{place.pointer}/{field}/0")


EVERY_NAME = {
    *bodies.cart(),
    *bodies.item(),
    *("cartId", "profileKey", "subtotal", "version", "createdOn", "itemId", "value"),
}


@pytest.mark.parametrize("place", CHANGEABLE, ids=str)
@pytest.mark.parametrize("value", ["EUR", 7, {}, None], ids=repr)
def test_a_change_changes_all_that_it_names_or_nothing(
    target: Target, unchanged: Unchanged, place: Place, value: Any
) -> None:
    names = sorted(EVERY_NAME - {*CHANGEABLE[place]})
    wrong, *_ = CHANGEABLE[place]

    response = target.send(**dict.fromkeys(names, value), **{wrong: []})

    assert response.status_code == 400
    told = [("cannot_change", f"/{name}") for name in names]
    assert errors_of(response) == [*told, ("invalid_type", f"/{wrong}")]


@pytest.mark.parametrize("place", PLACES[1:], ids=str)
@pytest.mark.parametrize("code", ["USD", "ABC", "DEM"])
def test_refuses_a_currency_that_is_not_the_carts(
    target: Target, code: str, unchanged: Unchanged
) -> None:
    text, facts = "The cart's currency is EUR.", {"currency": "EUR"}
    target.refuses("currency_mismatch", text, facts, currency=code)
