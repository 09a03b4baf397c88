from carts.models import CartItem
from tests.support import bodies
from tests.support.answers import success
from tests.support.callers import Api
from tests.support.carts import created_with_items, shown


def test_adds_an_item_with_its_options_behind_the_last(api: Api) -> None:
    cart_id, [removed, *_] = created_with_items(api, "Removed", "First", "Second")
    api.delete(f"/{cart_id}/items/{removed}")
    before = shown(api, cart_id)
    sent = bodies.item(
        displayName="Third", price=4, quantity=3, options=[bodies.option(price=1)] * 2
    )

    response = api.post(f"/{cart_id}/items", sent)

    assert response.status_code == 200
    *_, new = CartItem.objects.order_by("id")
    assert response.json() == success("The item was added.", {"itemId": str(new.id)})
    after = shown(api, cart_id)
    assert after == {
        **before,
        "items": [*before["items"], {**sent, "itemId": str(new.id), "value": 18}],
        "subtotal": before["subtotal"] + 18,
        "modifiedOn": after["modifiedOn"],
        "version": 3,
    }
    assert after["modifiedOn"] > before["modifiedOn"]
