from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from carts.models import Cart
from tests.support import bodies
from tests.support.answers import error, problems, success
from tests.support.callers import PROFILE, Api
from tests.support.carts import created, shown


def test_creates_a_cart_with_items_and_options(api: Api) -> None:
    body = bodies.cart(items=2, options=2)

    response = api.post(body=body)

    assert response.status_code == 200
    cart = Cart.objects.get()
    assert response.json() == success("The cart was created.", {"cartId": str(cart.id)})
    items = shown(api, str(cart.id))["items"]
    assert shown(api, str(cart.id)) == {
        **body,
        "cartId": str(cart.id),
        "profileKey": str(PROFILE),
        "items": [
            {
                **item,
                "price": Decimal("10.1"),
                "options": [{**option, "price": Decimal("1.25")} for option in item["options"]],
                "itemId": items[position]["itemId"],
                "value": Decimal("25.2"),
            }
            for position, item in enumerate(body["items"])
        ],
        "subtotal": Decimal("50.4"),
        "createdOn": cart.created_on.isoformat().replace("+00:00", "Z"),
        "modifiedOn": cart.created_on.isoformat().replace("+00:00", "Z"),
        "version": 1,
    }


@pytest.mark.parametrize(
    "items",
    [{}, {"items": []}, {"items": None}],
    ids=["omitted", "empty", "null"],
)
def test_creates_a_cart_without_items(api: Api, items: dict[str, Any]) -> None:
    response = api.post(body=bodies.bare_cart(**items))

    cart_id = str(Cart.objects.get().id)
    assert response.json() == success("The cart was created.", {"cartId": cart_id})
    cart = shown(api, cart_id)
    assert (cart["items"], cart["subtotal"]) == ([], 0)
    assert (cart["note"], cart["specialInstructions"]) == (None, None)


def test_items_and_options_keep_the_order_sent(api: Api) -> None:
    names = ["Zuppa", "Antipasto", "Minestrone", "Zuppa"]
    options = [bodies.option(displayName=name) for name in names]
    items = [bodies.item(displayName=name, options=options) for name in names]

    cart = shown(api, created(api, bodies.cart(items=items)))

    assert [item["displayName"] for item in cart["items"]] == names
    for item in cart["items"]:
        assert [option["displayName"] for option in item["options"]] == names


def test_a_profile_key_in_upper_case_is_the_same_profile(api: Api) -> None:
    api.base = api.base.replace(str(PROFILE), str(PROFILE).upper())

    assert shown(api, created(api))["profileKey"] == str(PROFILE)


def test_every_problem_is_reported_at_once(api: Api, unchanged: Callable[[], None]) -> None:
    body = bodies.cart(
        items=[
            bodies.item(),
            bodies.item(quantity=0, options=[bodies.option(), bodies.option(price="1")]),
        ],
        partnerKey="LARGE",
        restaurantKey=None,
    )
    del body["currency"]

    response = api.post(body=body)

    assert response.status_code == 400
    assert sorted(problems(response), key=str) == [
        ("invalid_type", "/items/1/options/1/price"),
        ("max_length", "/partnerKey"),
        ("min_value", "/items/1/quantity"),
        ("null", "/restaurantKey"),
        ("required", "/currency"),
    ]
    assert response.json()["message"] == "The request has 5 problems."


@pytest.mark.parametrize(
    "profile",
    [
        "42",
        "0f8fad5bd9cb469fa16570867728950e",
        "{0f8fad5b-d9cb-469f-a165-70867728950e}",
        "0f8fad5b-d9cb-469f-a165-70867728950",
        "0f8fad5b-d9cb-469f-a165-70867728950g",
        "0f8fad5b-d9cb-469f-a165-70867728950e%0A",
        "%D9%A0f8fad5b-d9cb-469f-a165-70867728950e",
        "urn:uuid:0f8fad5b-d9cb-469f-a165-70867728950e",
        "%00",
        "%F0%9F%8D%95",
    ],
    ids=[
        "number",
        "no dashes",
        "braces",
        "short",
        "not hex",
        "line feed",
        "Arabic digit",
        "URN",
        "NUL",
        "pizza",
    ],
)
def test_refuses_a_profile_key_that_is_no_guid(
    api: Api, unchanged: Callable[[], None], profile: str
) -> None:
    api.base = api.base.replace(str(PROFILE), profile)

    response = api.post(body=bodies.cart())

    assert response.status_code == 400
    assert response.json() == error(
        "invalid_guid", "profileKey must be a GUID: 8-4-4-4-12 hexadecimal digits.", "profileKey"
    )
