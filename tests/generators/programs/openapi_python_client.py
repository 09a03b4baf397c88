"""Calls every operation with the client of openapi-python-client."""

import os
from uuid import UUID, uuid4

from cart_client import AuthenticatedClient, models
from cart_client.api.carts import change_cart, create_cart, delete_cart, get_cart, list_carts
from cart_client.api.items import add_item, change_item, remove_item, update_item

PIZZA = models.CartItem(
    menu_key="DINNER",
    menu_version=1,
    menu_item_key=2**62,
    display_name="Pizza",
    currency=models.Currency.EUR,
    price=9.95,
    quantity=2,
)
client = AuthenticatedClient(os.environ["BASE_URL"], os.environ["TOKEN"])
profile = UUID(os.environ["PROFILE"])

created = create_cart.sync(
    profile,
    client=client,
    body=models.CreateCart(
        partner_key="DEMO",
        restaurant_key=1,
        platform="test",
        ordering_channel="WEB",
        fulfilment_channel="DELIVERY",
        currency=models.Currency.EUR,
        items=[PIZZA],
    ),
)
assert isinstance(created, models.CreateCartResponse)
cart = created.data.cart_id

added = add_item.sync(profile, cart, client=client, body=PIZZA)
assert isinstance(added, models.AddItemResponse)
item = added.data.item_id

read = get_cart.sync_detailed(profile, cart, client=client)
assert isinstance(read.parsed, models.GetCartResponse)
assert read.parsed.data.subtotal == 39.8
assert read.parsed.data.items[1].menu_item_key == 2**62
tag = read.headers["ETag"]


def replaced(cart: UUID, currency: models.Currency, tag: str) -> tuple[int, str | None]:
    body = models.UpdateCartItem.from_dict({**PIZZA.to_dict(), "currency": currency.value})
    answer = update_item.sync_detailed(profile, cart, item, client=client, body=body, if_match=tag)
    error = answer.parsed
    code = error.notifications[0].code if isinstance(error, models.ErrorResponse) else None
    return int(answer.status_code), code


assert replaced(cart, models.Currency.EUR, tag) == (200, None)
assert replaced(cart, models.Currency.USD, "*") == (400, "currency_mismatch")
assert replaced(uuid4(), models.Currency.EUR, "*") == (404, "cart_not_found")
assert replaced(cart, models.Currency.EUR, tag) == (412, "version_mismatch")
change_item.sync(profile, cart, item, client=client, body=models.ChangeCartItem(quantity=3))
for body, tag in (
    (models.ChangeCart(platform="web", note="Ring"), '"4"'),
    (models.ChangeCart(note=None), '"5"'),
):
    answer = change_cart.sync_detailed(profile, cart, client=client, body=body, if_match=tag)
    assert answer.status_code == 200
again = get_cart.sync(profile, cart, client=client)
assert isinstance(again, models.GetCartResponse)
changed = again.data
assert (changed.subtotal, changed.platform, changed.note) == (49.75, "web", None)
assert remove_item.sync_detailed(profile, cart, item, client=client).status_code == 200
listed = list_carts.sync(profile, client=client)
assert isinstance(listed, models.ListCartsResponse)
assert [one.item_count for one in listed.data.carts] == [1]
assert delete_cart.sync_detailed(profile, cart, client=client).status_code == 200
assert get_cart.sync_detailed(profile, cart, client=client).status_code == 404
print("done")
