import uuid

from carts.models import Cart
from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api

FOREIGN = str(uuid.UUID(int=7))
SMUGGLED = {
    "cartId": FOREIGN,
    "cart_id": FOREIGN,
    "id": FOREIGN,
    "pk": FOREIGN,
    "itemId": FOREIGN,
    "profileKey": str(STRANGER),
    "profile_key": str(STRANGER),
    "version": 99,
    "createdOn": "2001-01-01T00:00:00Z",
    "created_on": "2001-01-01T00:00:00Z",
    "modifiedOn": "2001-01-01T00:00:00Z",
    "history": "[]\n",
    "position": 77,
    "subtotal": 0,
    "value": 0,
    "__proto__": {"scope": "Cart.Write"},
    "__class__": "Cart",
}


def test_a_body_sets_nothing_but_the_specified_fields(api: Api) -> None:
    option = bodies.option(**SMUGGLED)
    item = bodies.item(options=[option], **SMUGGLED)
    created = api.post("", bodies.cart(**{**SMUGGLED, "items": [item]}))
    cart_id = created.json()["data"]["cartId"]
    stored = Cart.objects.get()
    assert str(stored.id) == cart_id != FOREIGN
    assert (stored.profile_key, stored.version) == (PROFILE, 1)
    seen = api.get(f"/{cart_id}").json()["data"]
    assert seen["createdOn"] == stored.created_on.isoformat().replace("+00:00", "Z")
    assert stored.created_on.year > 2001
    assert seen["items"][0]["itemId"] != FOREIGN
    assert seen["subtotal"] == seen["items"][0]["value"] == 22.7

    item_id = seen["items"][0]["itemId"]
    assert api.put(f"/{cart_id}/items/{item_id}", item).status_code == 200
    assert api.post(f"/{cart_id}/items", item).json()["data"]["itemId"] != FOREIGN
    stored.refresh_from_db()
    assert (stored.profile_key, stored.version) == (PROFILE, 3)
    assert [each.position for each in stored.items.all()] == [0, 1]
    assert str(stored.items.first().id) == item_id
