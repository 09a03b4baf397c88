"""Add Items: POST /carts/{cartId}/items/batch, an extension."""

from typing import Any

import pytest

from carts.models import CartChange, CartItem
from tests.support import bodies
from tests.support.answers import errors_of, success
from tests.support.callers import Api
from tests.support.carts import created_with_items, shown
from tests.support.table_contents import Unchanged, held, kept


def batch(*items: Any) -> dict[str, Any]:
    return {"items": list(items)}


def test_adds_items_behind_the_last_in_the_order_sent(api: Api) -> None:
    cart_id, [_, second] = created_with_items(api, "First", "Second")
    api.delete(f"/{cart_id}/items/{second}")
    before = shown(api, cart_id)
    items = [bodies.item(displayName=str(n), price=n, options=n) for n in range(8)]

    response = api.post(f"/{cart_id}/items/batch", batch(*items))

    after = shown(api, cart_id)
    added = after["items"][1:]
    ids = [item["itemId"] for item in added]
    assert response.json() == success("The items were added.", {"itemIds": ids})
    assert response["ETag"] == f'"{before["version"] + 1}"' == f'"{after["version"]}"'
    assert [{name: item[name] for name in items[0]} for item in added] == items
    assert kept(cart_id) == held(cart_id)
    record = CartChange.objects.get(version=after["version"])
    assert (record.operation, record.item_id, record.was) == ("Add Items", None, {"items": {}})
    assert [str(key) for key in record.items] == ids
    names = [now["display_name"] for _, now in record.items.values()]
    assert names == [item["displayName"] for item in items]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (batch(), ("required", "/items")),
        ({}, ("required", "/items")),
        ({"items": None}, ("null", "/items")),
        ({"items": {}}, ("invalid_type", "/items")),
        (batch(bodies.item(), bodies.item(quantity=0)), ("min_value", "/items/1/quantity")),
        (batch(bodies.item(), 1), ("invalid_type", "/items/1")),
        (batch(bodies.item(), bodies.item(currency="USD")),
         ("currency_mismatch", "/items/1/currency")),
        (batch(bodies.item(options=[bodies.option(currency="USD")])),
         ("currency_mismatch", "/items/0/options/0/currency")),
        (batch(*[bodies.item()] * 201), ("too_many", "/items")),
        (batch(*[bodies.item()] * 200), ("too_many", "/items")),
        (batch(*[bodies.item(options=100)] * 10), ("too_many", "/items")),
    ],
)  # fmt: skip
def test_all_or_none(
    api: Api, cart_id: str, unchanged: Unchanged, body: Any, error: tuple[str, str]
) -> None:
    unchanged()
    response = api.post(f"/{cart_id}/items/batch", body)
    assert (response.status_code, errors_of(response)) == (400, [error])


def test_as_many_as_fit(api: Api, cart_id: str) -> None:
    response = api.post(f"/{cart_id}/items/batch", batch(*[bodies.item()] * 199))
    assert response.status_code == 200
    assert CartItem.objects.count() == 200


def test_what_a_read_shows_may_be_sent_back(api: Api, cart_id: str) -> None:
    """`itemId` sets nothing, and nobody is warned of it."""
    [item] = shown(api, cart_id)["items"]
    item["value"] = float(item["value"])
    item["price"] = float(item["price"])
    item["options"] = []

    response = api.post(f"/{cart_id}/items/batch", batch(item), Prefer="handling=strict")

    assert response.status_code == 200
    [new] = response.json()["data"]["itemIds"]
    assert new != item["itemId"]
