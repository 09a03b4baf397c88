"""Add Items: POST /carts/{cartId}/items/batch, an extension."""

from typing import Any

import pytest

from carts.models import CartChange
from tests.support import bodies
from tests.support.answers import errors_of, success
from tests.support.callers import Api
from tests.support.carts import created_with_items, shown
from tests.support.operations import send
from tests.support.table_contents import Unchanged, computed_totals, stored_totals


def batch(*items: Any) -> dict[str, Any]:
    return {"items": list(items)}


def test_adds_items_behind_the_last_in_the_order_sent(api: Api) -> None:
    cart_id, [removed, *_] = created_with_items(api, "Removed", "First", "Second")
    api.delete(f"/{cart_id}/items/{removed}")
    before = shown(api, cart_id)
    items = [bodies.item(displayName=str(n), price=n, options=n) for n in range(8)]

    response = api.post(f"/{cart_id}/items/batch", batch(*items))

    after = shown(api, cart_id)
    added = after["items"][2:]
    ids = [item["itemId"] for item in added]
    assert response.json() == success("The items were added.", {"itemIds": ids})
    assert response["ETag"] == f'"{before["version"] + 1}"' == f'"{after["version"]}"'
    assert [{name: item[name] for name in items[0]} for item in added] == items
    assert stored_totals(cart_id) == computed_totals(cart_id)
    record = CartChange.objects.get(version=after["version"])
    assert (record.operation, record.item_id, record.old) == ("Add Items", None, {"items": {}})
    assert [str(key) for key in record.changed_items] == ids
    names = [now["display_name"] for _, now in record.changed_items.values()]
    assert names == [item["displayName"] for item in items]


@pytest.mark.parametrize("name", ["Add Items", "Replace Items"])
@pytest.mark.parametrize(
    ("body", "error"),
    [
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
        (batch(*[bodies.item(options=100)] * 10, bodies.item()), ("too_many", "/items")),
    ],
)  # fmt: skip
def test_a_list_is_taken_whole_or_not_at_all(
    api: Api, cart_id: str, unchanged: Unchanged, name: str, body: Any, error: tuple[str, str]
) -> None:
    response = send(api, name, cart_id, body=body)
    assert (response.status_code, errors_of(response)) == (400, [error])


def test_a_batch_without_an_item_is_refused(api: Api, cart_id: str, unchanged: Unchanged) -> None:
    response = send(api, "Add Items", cart_id, body=batch())
    assert (response.status_code, errors_of(response)) == (400, [("required", "/items")])
