"""Refusing a body costs little more than accepting a valid one of the same size.

The tests count calls of Python and C functions, which do not depend on the machine's load.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import bodies
from tests.support.callers import Api
from tests.support.costs import calls
from tests.support.stored import Unchanged

pytestmark = pytest.mark.usefixtures("raised_limits")

ITEMS, OPTIONS = 500, 10


def nested(item: Callable[[list[Any]], Any], option: Any, items: int = ITEMS) -> Any:
    return bodies.cart(items=[item([option] * OPTIONS) for _ in range(items)])


def digits(option: dict[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(option, int("9" * 300))


WRONG: dict[str, Any] = {
    "all missing": nested(lambda options: {"options": options}, {}),
    "all of a wrong type": nested(
        lambda options: {**{name: [1] for name in bodies.item()}, "options": options},
        {name: {} for name in bodies.option()},
    ),
    "all unknown": nested(
        lambda options: {"options": options, **dict.fromkeys(map(str, range(9)), 1)},
        dict.fromkeys(map(str, range(9)), 1),
    ),
    "numbers of 300 digits": nested(
        lambda options: {**digits(bodies.item()), "options": options},
        digits(bodies.option()),
        items=50,
    ),
    "long decimals": nested(
        lambda options: bodies.item(options=options, price=0.12345678901),
        bodies.option(price=0.12345678901),
    ),
    "another currency": nested(
        lambda options: bodies.item(options=options, currency="USD"), bodies.option(currency="USD")
    ),
    "no objects": nested(lambda options: bodies.item(options=options), 5),
    "options of options": nested(lambda options: {"options": [{"options": options}] * 10}, {}),
}


def calls_a_byte(api: Api, body: Any) -> tuple[float, Any]:
    text = json.dumps(body)
    count, response = calls(lambda: api.post(body=text))
    return count / len(text), response


@pytest.fixture
def valid(api: Api) -> float:
    """Return the calls per byte for a valid body of ITEMS items with OPTIONS options each."""
    api.post(body=bodies.cart(items=1))
    body = bodies.cart(items=ITEMS, options=OPTIONS)
    cost, response = calls_a_byte(api, body)
    assert response.status_code == 200
    return cost


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_refusing_costs_at_most_three_times_as_much(
    api: Api, valid: float, unchanged: Unchanged, body: Any
) -> None:
    unchanged()

    cost, response = calls_a_byte(api, body)

    assert response.status_code == 400
    assert cost < 3 * valid
