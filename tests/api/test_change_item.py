"""Change Item: PATCH /carts/{cartId}/items/{itemId}, an extension."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from carts.models import CartChange
from tests.support import bodies
from tests.support.answers import problems, success
from tests.support.callers import STRANGER, Api
from tests.support.carts import created_with_items, shown
from tests.support.stored import held, kept

FIXED = {
    "menuKey": "DINNER",
    "menuVersion": 1,
    "menuItemKey": 7,
    "displayName": "Pizza",
    "currency": "EUR",
    "price": 1,
    "options": [],
}


@pytest.fixture
def path(api: Api) -> tuple[str, str]:
    cart_id, [item_id, _] = created_with_items(api, "Calzone", "Pizza")
    return cart_id, f"/{cart_id}/items/{item_id}"


def test_changes_the_quantity_and_nothing_else(api: Api, path: tuple[str, str]) -> None:
    cart_id, item = path
    before = shown(api, cart_id)

    response = api.patch(item, {"quantity": 3})

    assert (response.status_code, response.json()) == (200, success("The item was changed."))
    assert response["ETag"] == '"2"'
    after = shown(api, cart_id)
    first, second = before["items"]
    value = first["value"] / first["quantity"] * 3
    assert after["items"] == [first | {"quantity": 3, "value": pytest.approx(value)}, second]
    assert kept(cart_id) == held(cart_id)
    [change] = CartChange.objects.all()
    assert (change.operation, change.was, change.now) == (
        "Change Item",
        {"quantity": first["quantity"]},
        {"quantity": 3},
    )
    assert change.subtotal_after - change.subtotal_before == Decimal(
        str(after["subtotal"])
    ) - Decimal(str(before["subtotal"]))


def test_changes_and_takes_away_the_instructions(api: Api, path: tuple[str, str]) -> None:
    cart_id, item = path
    assert api.patch(item, {"specialInstructions": "No onions"}).status_code == 200
    assert shown(api, cart_id)["items"][0]["specialInstructions"] == "No onions"
    assert api.patch(item, {"specialInstructions": None}).status_code == 200
    assert shown(api, cart_id)["items"][0]["specialInstructions"] is None


def test_what_is_held_already_changes_nothing(
    api: Api, path: tuple[str, str], unchanged: Callable[[], None]
) -> None:
    cart_id, item = path
    unchanged()
    quantity = shown(api, cart_id)["items"][0]["quantity"]
    for body in ({}, {"quantity": quantity}, {"itemId": str(STRANGER), "value": 7}):
        response = api.patch(item, body)
        assert (response.status_code, response["ETag"]) == (200, '"1"')
    assert api.patch(item, {}, If_Match='"7"').status_code == 412


@pytest.mark.parametrize(
    ("body", "found"),
    [
        *[({name: value}, [("cannot_change", f"/{name}")]) for name, value in FIXED.items()],
        ({"price": None}, [("cannot_change", "/price")]),
        ({"quantity": None}, [("null", "/quantity")]),
        ({"quantity": 0}, [("min_value", "/quantity")]),
        ({"quantity": 10_000}, [("max_value", "/quantity")]),
        ({"quantity": "3"}, [("invalid_type", "/quantity")]),
        ({"quantity": 2.5}, [("invalid_type", "/quantity")]),
        ({"quantity": True}, [("invalid_type", "/quantity")]),
        ({"specialInstructions": 7}, [("invalid_type", "/specialInstructions")]),
        ({"specialInstructions": "x" * 301}, [("max_length", "/specialInstructions")]),
    ],
    ids=str,
)
def test_refuses(
    api: Api, path: tuple[str, str], unchanged: Callable[[], None], body: Any, found: Any
) -> None:
    unchanged()
    response = api.patch(path[1], body)
    assert (response.status_code, problems(response)) == (400, found)


def test_an_item_that_is_not_there_is_not_found(
    api: Api, path: tuple[str, str], unchanged: Callable[[], None]
) -> None:
    cart_id, item = path
    unchanged()
    missing = api.patch(f"/{cart_id}/items/{STRANGER}", {"quantity": 3})
    assert (missing.status_code, problems(missing)) == (404, [("item_not_found", None)])
    foreign = Api(STRANGER).patch(item, {"quantity": 3})
    assert (foreign.status_code, problems(foreign)) == (404, [("cart_not_found", None)])
    assert Api(scope="Cart.Read").patch(item, {"quantity": 3}).status_code == 403


def test_a_change_keeps_what_another_has_replaced(api: Api, path: tuple[str, str]) -> None:
    cart_id, item = path
    api.put(item, bodies.item(displayName="Burger", options=0))
    assert api.patch(item, {"quantity": 9}).status_code == 200
    found = shown(api, cart_id)["items"][0]
    assert (found["displayName"], found["quantity"], found["options"]) == ("Burger", 9, [])


def test_a_price_that_the_limits_of_today_refuse_does_not_matter(
    api: Api, path: tuple[str, str], settings: Any
) -> None:
    settings.MAX_ITEMS = settings.MAX_CART_OPTIONS = 0
    assert api.patch(path[1], {"quantity": 4}).status_code == 200
