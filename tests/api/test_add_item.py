import pytest

from carts.models import CartItem
from tests.support import bodies
from tests.support.answers import success
from tests.support.callers import Api
from tests.support.carts import created_with_items, shown


def test_adds_an_item_with_its_options_behind_the_last(api: Api) -> None:
    cart_id, item_ids = created_with_items(api, "First", "Second")
    before = shown(api, cart_id)
    sent = bodies.item(
        displayName="Third", price=4, quantity=3, options=[bodies.option(price=1)] * 2
    )

    response = api.post(f"/{cart_id}/items", sent)

    assert response.status_code == 200
    [new] = CartItem.objects.exclude(pk__in=item_ids)
    assert response.json() == success("The item was added.", {"itemId": str(new.id)})
    after = shown(api, cart_id)
    assert after == {
        **before,
        "items": [*before["items"], {**sent, "itemId": str(new.id), "value": 18}],
        "subtotal": before["subtotal"] + 18,
        "modifiedOn": after["modifiedOn"],
        "version": 2,
    }
    assert after["modifiedOn"] > before["modifiedOn"]


@pytest.mark.parametrize("removed", [0, 1, 2], ids=["first", "middle", "last"])
def test_a_new_item_comes_last_after_a_removal(api: Api, removed: int) -> None:
    names = ["First", "Second", "Third"]
    cart_id, item_ids = created_with_items(api, *names)
    api.delete(f"/{cart_id}/items/{item_ids[removed]}")

    api.post(f"/{cart_id}/items", bodies.item(displayName="New"))

    del names[removed]
    assert [item["displayName"] for item in shown(api, cart_id)["items"]] == [*names, "New"]
