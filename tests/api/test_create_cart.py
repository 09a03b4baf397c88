from decimal import Decimal
from typing import Any

import pytest

from carts.models import Cart
from tests.support import bodies
from tests.support.answers import problems, success
from tests.support.callers import PROFILE, Api
from tests.support.carts import created, shown
from tests.support.stored import Unchanged


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


@pytest.mark.parametrize("items", [{}, {"items": []}, {"items": None}], ids=repr)
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


def test_every_problem_is_reported_at_once(api: Api, unchanged: Unchanged) -> None:
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
