"""Replace Items: PUT /carts/{cartId}/items, an extension."""

from typing import Any

import pytest

from carts.models import CartChange
from tests.support import bodies
from tests.support.answers import errors_of, success
from tests.support.callers import STRANGER, Api
from tests.support.carts import created_with_items, shown
from tests.support.table_contents import Unchanged, computed_totals, stored_totals

NAMES = ("Pizza", "Salad", "Wine")


@pytest.fixture
def cart(api: Api) -> dict[str, Any]:
    cart_id, _ = created_with_items(api, *NAMES)
    return shown(api, cart_id)


def sent(item: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return an item that was read as it is sent back."""
    numbers = {"price": float(item["price"]), "value": float(item["value"])}
    options = [{**one, "price": float(one["price"])} for one in item["options"]]
    return {**item, **numbers, "options": options, **changes}


def test_items_are_those_of_the_body_in_its_order(api: Api, cart: dict[str, Any]) -> None:
    pizza, salad, _ = cart["items"]
    body = {
        "items": [
            bodies.item(displayName="Soup", price=3),
            sent(salad),
            sent(pizza, price=11.5, options=[]),
        ]
    }

    response = api.put(f"/{cart['cartId']}/items", body, Prefer="handling=strict")

    after = shown(api, cart["cartId"])
    ids = [item["itemId"] for item in after["items"]]
    assert response.json() == success("The items were replaced.", {"itemIds": ids})
    assert response["ETag"] == '"2"'
    assert ids[1:] == [salad["itemId"], pizza["itemId"]]
    assert [item["displayName"] for item in after["items"]] == ["Soup", "Salad", "Pizza"]
    assert after["items"][1] == salad
    assert (after["items"][2]["price"], after["items"][2]["options"]) == (11.5, [])
    assert stored_totals(cart["cartId"]) == computed_totals(cart["cartId"])
    [record] = CartChange.objects.all()
    changed = {str(key): (set(was), set(now)) for key, (was, now) in record.changed_items.items()}
    assert record.operation == "Replace Items"
    assert len(changed) == 3  # the salad has stayed where it was
    assert changed[pizza["itemId"]] == ({"display_name", "position", "price", "options"},) * 2
    assert changed[ids[0]][0] == set()
    assert len(changed[ids[0]][1]) == len(bodies.item()) + 1  # with its position


def test_another_order_is_a_change(api: Api, cart: dict[str, Any]) -> None:
    body = {"items": [sent(item) for item in reversed(cart["items"])]}
    assert api.put(f"/{cart['cartId']}/items", body)["ETag"] == '"2"'
    items = shown(api, cart["cartId"])["items"]
    assert [item["displayName"] for item in items] == [*reversed(NAMES)]


def test_an_empty_list_empties_the_cart(api: Api, cart: dict[str, Any]) -> None:
    response = api.put(f"/{cart['cartId']}/items", {"items": []})
    assert response.json()["data"] == {"itemIds": []}
    after = shown(api, cart["cartId"])
    assert (after["items"], after["subtotal"]) == ([], 0)


OF_ANOTHER_CART, NAMED_TWICE = object(), object()


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (str(STRANGER), "item_not_found"),
        (OF_ANOTHER_CART, "item_not_found"),
        ("first", "invalid_guid"),
        (NAMED_TWICE, "invalid_guid"),
        (7, "invalid_type"),
    ],
)
def test_an_id_that_no_item_of_the_cart_has(
    api: Api, cart: dict[str, Any], unchanged: Unchanged, key: Any, code: str
) -> None:
    first, *_ = cart["items"]
    _, [elsewhere] = created_with_items(api, "Elsewhere")
    unchanged()
    key = {OF_ANOTHER_CART: elsewhere, NAMED_TWICE: first["itemId"].upper()}.get(key, key)

    body = {"items": [sent(first), bodies.item(itemId=key)]}
    response = api.put(f"/{cart['cartId']}/items", body)

    assert (response.status_code, errors_of(response)) == (400, [(code, "/items/1/itemId")])


def test_limits_of_the_whole_cart(api: Api, cart: dict[str, Any], settings: Any) -> None:
    """A cart above a lowered limit takes no more than it had."""
    settings.MAX_ITEMS, settings.MAX_CART_OPTIONS = 1, 2
    items = [sent(item, price=9) for item in cart["items"]]
    path = f"/{cart['cartId']}/items"

    assert api.put(path, {"items": items}).status_code == 200
    assert errors_of(api.put(path, {"items": [*items, bodies.bare_item()]})) == [
        ("too_many", "/items")
    ]
    fuller = [{**item, "options": [bodies.option()] * 2} for item in items]
    assert errors_of(api.put(path, {"items": fuller})) == [("too_many", "/items")]
    assert api.put(path, {"items": items[:1]}).status_code == 200
    assert errors_of(api.put(path, {"items": items})) == [
        ("item_not_found", "/items/1/itemId"),
        ("item_not_found", "/items/2/itemId"),
    ]
