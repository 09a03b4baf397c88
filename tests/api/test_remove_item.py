import uuid

import pytest

from carts.models import CartItemOption
from tests.support.answers import success
from tests.support.callers import Api
from tests.support.carts import created_with_items, shown


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "middle", "last"])
def test_removes_one_item_with_its_options(api: Api, place: int) -> None:
    cart_id, item_ids = created_with_items(api, "First", "Second", "Third")
    before = shown(api, cart_id)

    response = api.delete(f"/{cart_id}/items/{item_ids[place]}")

    assert response.status_code == 200
    assert response.json() == success("The item was removed.")
    after = shown(api, cart_id)
    removed = before["items"].pop(place)
    assert after == {
        **before,
        "subtotal": before["subtotal"] - removed["value"],
        "modifiedOn": after["modifiedOn"],
        "version": 2,
    }
    assert after["modifiedOn"] > before["modifiedOn"]
    assert not CartItemOption.objects.filter(item=uuid.UUID(item_ids[place])).exists()


def test_a_body_is_not_looked_at(api: Api, cart_id: str, item_id: str) -> None:
    response = api.request("DELETE", f"/{cart_id}/items/{item_id}", b"{not json")

    assert response.status_code == 200
