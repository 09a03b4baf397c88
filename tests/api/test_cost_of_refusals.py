"""Refusing a body costs little more than accepting a valid one of the same size.

The tests count calls of Python and C functions, which do not depend on the machine's load.
"""

import json
import uuid
from typing import Any

import pytest

from carts.serializers import CreateCartSerializer
from carts.value_types import checked
from tests.support import bodies
from tests.support.answers import errors_of
from tests.support.call_counts import count_calls
from tests.support.callers import Api
from tests.support.table_contents import Unchanged

pytestmark = pytest.mark.usefixtures("raised_limits")

ITEMS, OPTIONS = 500, 10


def nested(item: dict[str, Any], option: Any, items: int = ITEMS) -> Any:
    return bodies.cart(items=[item | {"options": [option] * OPTIONS}] * items)


ITEM, OPTION = bodies.item(), bodies.option()
HUGE, UNKNOWN = int("9" * 300), dict.fromkeys(map(str, range(9)), 1)
WRONG: dict[str, Any] = {
    "all missing": nested({}, {}),
    "all null": nested(dict.fromkeys(ITEM), dict.fromkeys(OPTION)),
    "all of a wrong type": nested({name: [1] for name in ITEM}, {name: {} for name in OPTION}),
    "all unknown": nested(UNKNOWN, UNKNOWN),
    "numbers of 300 digits": nested(
        dict.fromkeys(ITEM, HUGE), dict.fromkeys(OPTION, HUGE), items=50
    ),
    "long decimals": nested(bodies.item(price=0.12345678901), bodies.option(price=0.12345678901)),
    "control characters": nested(
        bodies.item(displayName="\x07"), bodies.option(displayName="\x07")
    ),
    "another currency": nested(bodies.item(currency="USD"), bodies.option(currency="USD")),
    "no objects": nested(ITEM, 5),
    "options of options": nested({}, {"options": [{}] * OPTIONS}),
}


def calls_a_byte(api: Api, body: Any, method: str = "POST", path: str = "") -> tuple[float, Any]:
    text = json.dumps(body)
    count, response = count_calls(lambda: api.request(method, path, text))
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
    cost, response = calls_a_byte(api, body)

    assert response.status_code == 400
    assert cost < 3 * valid


CHEAP = bodies.option(price=1)
ONE_OFF: dict[str, Any] = {
    "a wrong value of an option": {"options": [*[CHEAP] * 4, CHEAP | {"price": "1"}]},
    "a missing value": {"price": None},
    "an unknown member of an option": {"options": [CHEAP | {"prize": 1}, *[CHEAP] * 4]},
    "an unknown member": {"prize": 1},
}


@pytest.mark.parametrize("change", ONE_OFF.values(), ids=ONE_OFF)
def test_nothing_is_checked_twice_because_of_one_wrong_member(change: dict[str, Any]) -> None:
    item = bodies.item(price=1, options=[CHEAP] * 5)

    def calls_for(one: dict[str, Any]) -> int:
        body, serializer = bodies.cart(items=[*[item] * 49, one]), CreateCartSerializer()
        return count_calls(lambda: checked(serializer.body_check, body))[0]

    calls_for(item)
    assert calls_for(item | change) < 1.3 * calls_for(item)


def test_refusing_strange_items_does_as_well(
    api: Api, valid: float, cart_id: str, unchanged: Unchanged
) -> None:
    items = [bodies.bare_item(itemId=str(uuid.uuid4())) for _ in range(3_000)]

    cost, response = calls_a_byte(api, {"items": items}, "PUT", f"/{cart_id}/items")

    listed = [("item_not_found", f"/items/{number}/itemId") for number in range(99)]
    assert errors_of(response) == [*listed, ("more_problems", None)]
    assert cost < 3 * valid
