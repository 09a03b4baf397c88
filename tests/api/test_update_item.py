from decimal import Decimal

import pytest

from tests.support import bodies
from tests.support.answers import success
from tests.support.callers import Api
from tests.support.carts import created, created_with_items, shown


def test_replaces_the_item_entirely_in_its_place(api: Api) -> None:
    cart_id, [_, item_id, _] = created_with_items(api, "First", "Second", "Third")
    before = shown(api, cart_id)
    first, second, third = before["items"]
    sent = bodies.item(
        menuKey="LUNCH",
        menuVersion=8,
        menuItemKey=2,
        displayName="Quattro stagioni",
        price=3,
        quantity=4,
        options=[bodies.option(displayName="Rucola", price=2)],
        specialInstructions="Well done",
    )

    response = api.put(f"/{cart_id}/items/{item_id}", sent)

    assert response.status_code == 200
    assert response.json() == success("The item was updated.")
    after = shown(api, cart_id)
    assert after == {
        **before,
        "items": [first, {**sent, "itemId": item_id, "value": 20}, third],
        "subtotal": before["subtotal"] - second["value"] + 20,
        "modifiedOn": after["modifiedOn"],
        "version": 2,
    }
    assert after["modifiedOn"] > before["modifiedOn"]


@pytest.mark.parametrize("number", [1, 3, 5], ids=["fewer", "as many", "more"])
def test_replaces_the_options_by_those_sent(api: Api, number: int) -> None:
    cart_id = created(api, bodies.cart(options=3))
    [item] = shown(api, cart_id)["items"]
    names = [f"Option {index}" for index in range(number)][::-1]
    options = [bodies.option(displayName=name) for name in names]

    api.put(f"/{cart_id}/items/{item['itemId']}", bodies.item(options=options))

    [item] = shown(api, cart_id)["items"]
    assert [option["displayName"] for option in item["options"]] == names


def test_keys_in_upper_case_are_the_same_item(api: Api, cart_id: str, item_id: str) -> None:
    path = f"/{cart_id.upper()}/items/{item_id.upper()}"

    response = api.put(path, bodies.item(price=7, quantity=1))

    assert response.status_code == 200
    assert shown(api, cart_id)["subtotal"] == Decimal("8.25")
