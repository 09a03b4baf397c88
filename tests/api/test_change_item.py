"""Change Item: PATCH /carts/{cartId}/items/{itemId}, an extension."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from carts.models import CartChange
from tests.support import bodies
from tests.support.answers import success
from tests.support.callers import STRANGER, Api
from tests.support.carts import created_with_items, shown
from tests.support.stored import held, kept


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


def test_a_change_keeps_what_another_has_replaced(api: Api, path: tuple[str, str]) -> None:
    cart_id, item = path
    api.put(item, bodies.item(displayName="Burger", options=0))
    assert api.patch(item, {"quantity": 9}).status_code == 200
    found = shown(api, cart_id)["items"][0]
    assert (found["displayName"], found["quantity"], found["options"]) == ("Burger", 9, [])
