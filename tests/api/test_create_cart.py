from decimal import Decimal

import pytest
import simplejson

from carts.models import Cart
from tests.support import bodies
from tests.support.answers import errors_of, success
from tests.support.callers import PROFILE, Api
from tests.support.carts import shown
from tests.support.table_contents import Unchanged

TEXTS = ["NULL", "{a,b}", 'say "hi"', "back\\slash", "it's", " é 😀 ", "1"]


@pytest.mark.parametrize("number", [2, 4, 30])
def test_creates_a_cart_with_items_and_options_in_the_order_sent(api: Api, number: int) -> None:
    """A few values are sent to the database as they are, more as arrays."""
    names = [f"{each * 7 % 10} {TEXTS[each % len(TEXTS)]}" for each in range(number)]
    options = [bodies.option(displayName=name, price=Decimal("1.25")) for name in names]
    items = [
        bodies.item(
            displayName=name,
            quantity=quantity,
            options=options,
            price=Decimal("10.1"),
            specialInstructions=(None, "", f"{name}\n")[quantity % 3],
        )
        for quantity, name in enumerate(names, 1)
    ]
    body = bodies.cart(items=items)

    response = api.post(body=simplejson.dumps(body))

    assert response.status_code == 200
    assert response["ETag"] == '"1"'
    cart = Cart.objects.get()
    assert response.json() == success("The cart was created.", {"cartId": str(cart.id)})
    values = [(Decimal("10.1") + Decimal("1.25") * number) * item["quantity"] for item in items]
    ids = map(str, cart.items.values_list("id", flat=True))
    moment = cart.created_on.isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert shown(api, str(cart.id)) == {
        **body,
        "cartId": str(cart.id),
        "profileKey": str(PROFILE),
        "items": [
            {**item, "itemId": item_id, "value": value}
            for item, item_id, value in zip(items, ids, values, strict=True)
        ],
        "subtotal": sum(values),
        "createdOn": moment,
        "modifiedOn": moment,
        "version": 1,
        "status": "open",
        "closedOn": None,
        "closedUntil": None,
        "reference": None,
        "orderReference": None,
        "expiresOn": None,
    }


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
    assert sorted(errors_of(response), key=str) == [
        ("invalid_type", "/items/1/options/1/price"),
        ("max_length", "/partnerKey"),
        ("min_value", "/items/1/quantity"),
        ("null", "/restaurantKey"),
        ("required", "/currency"),
    ]
    assert response.json()["message"] == "The request has 5 problems."
