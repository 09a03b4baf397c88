"""Calls every operation with the Python client of openapi-generator."""

import os
from uuid import UUID, uuid4

from openapi_client import ApiClient, CartsApi, Configuration, ItemsApi, models
from openapi_client.exceptions import ApiException

PIZZA = models.CartItem(
    menuKey="DINNER",
    menuVersion=1,
    menuItemKey=2**62,
    displayName="Pizza",
    currency="EUR",
    price=9.95,
    quantity=2,
)
client = ApiClient(Configuration(host=os.environ["BASE_URL"], access_token=os.environ["TOKEN"]))
carts, items = CartsApi(client), ItemsApi(client)
profile = UUID(os.environ["PROFILE"])

cart = carts.create_cart(
    profile,
    models.CreateCart(
        partnerKey="DEMO",
        restaurantKey=1,
        platform="test",
        orderingChannel="WEB",
        fulfilmentChannel="DELIVERY",
        currency="EUR",
        items=[PIZZA],
    ),
).data.cart_id
item = items.add_item(profile, cart, PIZZA).data.item_id
read = carts.get_cart_with_http_info(profile, cart)
assert read.data.data.subtotal == 39.8
assert read.data.data.items[1].menu_item_key == 2**62
assert read.headers is not None
tag = read.headers["ETag"]


def replaced(cart: UUID, currency: str, tag: str) -> tuple[int | None, str | None]:
    body = models.UpdateCartItem(**{**PIZZA.model_dump(by_alias=True), "currency": currency})
    try:
        items.update_item(profile, cart, item, body, if_match=tag)
    except ApiException as error:
        told = models.ErrorResponse.from_json(error.body or "")
        return error.status, told.notifications[0].code if told else None
    return 200, None


assert replaced(cart, "EUR", tag) == (200, None)
assert replaced(cart, "USD", "*") == (400, "currency_mismatch")
assert replaced(uuid4(), "EUR", "*") == (404, "cart_not_found")
assert replaced(cart, "EUR", tag) == (412, "version_mismatch")
items.change_item(profile, cart, item, models.ChangeCartItem(quantity=3))
carts.change_cart(
    profile, cart, models.ChangeCart(platform="web", note="Ring twice"), if_match='"4"'
)
carts.change_cart(profile, cart, models.ChangeCart(note=None), if_match='"5"')
changed = carts.get_cart(profile, cart).data
assert (changed.subtotal, changed.platform, changed.note) == (49.75, "web", None)
items.remove_item(profile, cart, item)
batch = models.AddItems(items=[PIZZA, PIZZA])
several = items.add_items(profile, cart, batch, prefer="return=representation").data
assert several.cart is not None
assert len(several.cart.items) == len(several.item_ids) + 1
kept = several.item_ids[0]
values = {**PIZZA.model_dump(by_alias=True), "itemId": kept, "price": 11.0}
whole = models.PlacedCartItem(**values)
listed = items.replace_items(profile, cart, models.ReplaceItems(items=[whole]))
assert listed.data.item_ids == [kept]
closing = models.CloseCart(outcome="checkout", reference="payment-1")
closed = carts.close_cart(profile, cart, closing, prefer="return=representation").data
assert closed is not None
assert (closed.status, closed.subtotal) == ("checkout", 22)
assert carts.reopen_cart(profile, cart).data is None
assert [one.item_count for one in carts.list_carts(profile).data.carts] == [1]
carts.delete_cart(profile, cart)
assert carts.list_carts(profile).data.carts == []
print("done")
