"""How many items and options a cart may hold."""

from typing import Any

import pytest

from tests.support import bodies
from tests.support.answers import assert_refused, errors_of
from tests.support.callers import Api
from tests.support.carts import created_with_items
from tests.support.operations import send
from tests.support.table_contents import Unchanged, computed_totals, stored_totals

pytestmark = pytest.mark.django_db


def test_the_limits_are_those_of_the_contract(settings: Any) -> None:
    assert (settings.MAX_ITEMS, settings.MAX_OPTIONS, settings.MAX_CART_OPTIONS) == (200, 100, 1000)
    assert settings.MAX_BODY_BYTES == 256 * 1024


LIMITS = {
    "MAX_ITEMS": (2, "items in a cart"),
    "MAX_OPTIONS": (2, "options on an item"),
    "MAX_CART_OPTIONS": (3, "options in all items of a cart together"),
}


@pytest.mark.parametrize(
    ("name", "operation", "fits", "exceeds", "field"),
    [
        ("MAX_ITEMS", "Create Cart", {"items": 2}, {"items": 3}, "/items"),
        ("MAX_ITEMS", "Add Item", {}, {}, ""),
        ("MAX_ITEMS", "Add Items", {}, {}, "/items"),
        ("MAX_OPTIONS", "Create Cart", {"options": 2}, {"options": 3}, "/items/0/options"),
        ("MAX_OPTIONS", "Add Item", {"options": 2}, {"options": 3}, "/options"),
        ("MAX_OPTIONS", "Update Item", {"options": 2}, {"options": 3}, "/options"),
        ("MAX_CART_OPTIONS", "Create Cart", {"items": 3}, {"items": 4}, "/items"),
        ("MAX_CART_OPTIONS", "Add Item", {"options": 2}, {"options": 1}, "/options"),
        ("MAX_CART_OPTIONS", "Add Items", {"options": 2}, {"options": 1}, "/items"),
        ("MAX_CART_OPTIONS", "Update Item", {"options": 3}, {"options": 4}, "/options"),
    ],
)
def test_a_limit_is_reached_and_not_exceeded(
    api: Api,
    unchanged: Unchanged,
    settings: Any,
    name: str,
    operation: str,
    fits: Any,
    exceeds: Any,
    field: str,
) -> None:
    limit, of_what = LIMITS[name]
    setattr(settings, name, limit)
    cart_id, [item_id] = created_with_items(api, "Calzone")

    def body(**parts: int) -> Any:
        item = bodies.item(**parts)
        return {"Create Cart": bodies.cart(**parts), "Add Items": {"items": [item]}}.get(
            operation, item
        )

    assert send(api, operation, cart_id, item_id, body(**fits)).status_code == 200
    unchanged()
    response = send(api, operation, cart_id, item_id, body(**exceeds))

    text = f"There must not be more than {limit} {of_what}."
    assert_refused(response, 400, "too_many", text, field, limit=limit)
    assert stored_totals(cart_id) == computed_totals(cart_id)


def test_a_lowered_limit_lets_through_what_leaves_no_more_than_there_was(
    api: Api, settings: Any
) -> None:
    cart_id, [first, second] = created_with_items(api, "Calzone", "Pizza")
    item = f"/{cart_id}/items/{first}"
    api.put(item, bodies.item(options=4))
    settings.MAX_CART_OPTIONS = settings.MAX_ITEMS = 1

    assert api.put(item, bodies.item(options=4)).status_code == 200
    assert api.patch(item, {"quantity": 4}).status_code == 200
    assert api.put(f"/{cart_id}/items/{second}", bodies.item(options=0)).status_code == 200
    assert api.delete(f"/{cart_id}/items/{second}").status_code == 200


def test_a_flood_is_refused_before_its_elements_are_looked_at(
    api: Api, unchanged: Unchanged
) -> None:
    items, options = bodies.cart(items=[0] * 501), [bodies.item(options=[0] * 101)]

    assert errors_of(api.post(body=items)) == [("too_many", "/items")]
    assert errors_of(api.post(body=bodies.cart(items=options))) == [
        ("too_many", "/items/0/options")
    ]
