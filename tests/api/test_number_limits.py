"""Integers, quantities and prices, in every place of every operation."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tests.api.field_places import Place, Target, everywhere, raw
from tests.support.answers import problems
from tests.support.callers import Api

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)
INTEGERS = {
    "cart": {"restaurantKey": INT32},
    "item": {"menuVersion": INT32, "menuItemKey": INT64, "quantity": (1, 9_999)},
    "option": {"optionSetKey": INT64, "optionSetItemKey": INT64},
}
PRICES: dict[str, dict[str, None]] = {"item": {"price": None}, "option": {"price": None}}
NUMBERS: dict[str, dict[str, Any]] = {
    part: {**fields, **PRICES.get(part, {})} for part, fields in INTEGERS.items()
}

TYPES = {
    '"5"': "a string",
    '""': "a string",
    "true": "a boolean",
    "false": "a boolean",
    "[]": "an array",
    "[5]": "an array",
    "{}": "an object",
}


@pytest.mark.parametrize(("place", "field", "bounds"), everywhere(INTEGERS))
def test_an_integer_at_its_bounds_is_kept(
    api: Api, place: Place, field: str, bounds: tuple[int, int]
) -> None:
    target = Target(api, place)

    for number in bounds:
        assert target.kept(field, target.send(**{field: number})) == number


@pytest.mark.parametrize(("place", "field", "bounds"), everywhere(INTEGERS))
def test_an_integer_beyond_its_bounds_is_refused(
    api: Api,
    unchanged: Callable[[], None],
    place: Place,
    field: str,
    bounds: tuple[int, int],
) -> None:
    target = Target(api, place)
    lowest, highest = bounds
    unchanged()

    for number in (lowest - 1, -(10**30), raw("-1e300")):
        target.refuses("min_value", f"This number must not be below {lowest}.", **{field: number})
    for number in (highest + 1, 10**30, raw("1e300")):
        target.refuses("max_value", f"This number must not be above {highest}.", **{field: number})


@pytest.mark.parametrize(("place", "field", "bounds"), everywhere(INTEGERS))
def test_an_integer_may_be_written_as_a_decimal(
    api: Api, place: Place, field: str, bounds: tuple[int, int]
) -> None:
    target = Target(api, place)

    for literal in ("5.0", "5e0", "0.5e1", "50e-1", "5.000000000000000000000"):
        assert target.kept(field, target.send(**{field: raw(literal)})) == 5


@pytest.mark.parametrize("literal", ["9223372036854775807.0", "9.223372036854775807e18"])
def test_an_integer_written_as_a_decimal_is_exact(api: Api, literal: str) -> None:
    target = Target(api, Place("add", "item"))

    assert target.kept("menuItemKey", target.send(menuItemKey=raw(literal))) == INT64[1]


@pytest.mark.parametrize(("place", "field", "bounds"), everywhere(INTEGERS))
def test_a_fraction_is_no_integer(
    api: Api,
    unchanged: Callable[[], None],
    place: Place,
    field: str,
    bounds: tuple[int, int],
) -> None:
    target = Target(api, place)
    unchanged()

    for literal in ("5.5", "5.0000000000000001", "1e-300", "55e-1"):
        target.refuses(
            "invalid_type", "This must be an integer, not a number.", **{field: raw(literal)}
        )


@pytest.mark.parametrize(("place", "field", "bounds"), everywhere(NUMBERS))
def test_what_is_no_number_is_refused(
    api: Api, unchanged: Callable[[], None], place: Place, field: str, bounds: object
) -> None:
    target = Target(api, place)
    wanted = "a number" if field == "price" else "an integer"
    unchanged()

    for literal, found in TYPES.items():
        target.refuses(
            "invalid_type", f"This must be {wanted}, not {found}.", **{field: raw(literal)}
        )


# The value sent, and the value stored.
KEPT_PRICES = {
    "0": "0",
    "0.0": "0",
    "-0": "0",
    "-0.0": "0",
    "0e9": "0",
    "5": "5",
    "1e2": "100",
    "1.5E+2": "150",
    "10.10": "10.1",
    "10.100000000000001": "10.1",
    "0.30000000000000004": "0.3",
    "1.0000000000000002": "1",
    "7.199999999999999": "7.2",
    "0.0001": "0.0001",
    "1e-4": "0.0001",
    "0.00010000": "0.0001",
    "1234567890.1234": "1234567890.1234",
    "9999999999.9999": "9999999999.9999",
    "9999999999.999902": "9999999999.9999",  # the next double
    "99999999999999e-4": "9999999999.9999",
    "5.0000000000000000000000000000000000000000": "5",
}


@pytest.mark.parametrize(("place", "field", "nothing"), everywhere(PRICES))
def test_a_price_is_kept_exactly(api: Api, place: Place, field: str, nothing: None) -> None:
    target = Target(api, place)

    for literal, price in KEPT_PRICES.items():
        kept = target.kept("price", target.send(price=raw(literal)))
        assert (literal, Decimal(kept)) == (literal, Decimal(price))


REFUSED_PRICES = {
    "-1": "min_value",
    "-0.0001": "min_value",
    "-1e-300": "min_value",
    "-1e300": "min_value",
    "10000000000": "max_value",
    "9999999999.99991": "max_value",
    "1e10": "max_value",
    "1e300": "max_value",
    "1" * 300: "max_value",
    "0.00001": "too_many_decimals",
    "10.12345": "too_many_decimals",
    "10.99999": "too_many_decimals",
    "1e-5": "too_many_decimals",
    "1e-300": "too_many_decimals",
    "1e-400": "too_many_decimals",
    "0.1234567890123456789": "too_many_decimals",
    "9999999999.99985": "too_many_decimals",
}


@pytest.mark.parametrize(("place", "field", "nothing"), everywhere(PRICES))
def test_a_price_that_cannot_be_kept_is_refused(
    api: Api, unchanged: Callable[[], None], place: Place, field: str, nothing: None
) -> None:
    target = Target(api, place)
    unchanged()

    for literal, code in REFUSED_PRICES.items():
        response = target.send(price=raw(literal))
        assert response.status_code == 400
        assert (literal, problems(response)) == (literal, [(code, f"{place.pointer}/price")])
