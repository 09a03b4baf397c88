"""Calls every operation with the client of openapi-python-client."""

import os
from uuid import UUID, uuid4

from cart_client import AuthenticatedClient
from cart_client.api.carts import change_cart, create_cart, delete_cart, get_cart, list_carts
from cart_client.api.items import add_item, change_item, remove_item, update_item
from cart_client.models.add_item_response import AddItemResponse
from cart_client.models.cart_item import CartItem
from cart_client.models.change_cart import ChangeCart
from cart_client.models.change_cart_item import ChangeCartItem
from cart_client.models.create_cart import CreateCart
from cart_client.models.create_cart_response import CreateCartResponse
from cart_client.models.currency import Currency
from cart_client.models.error_response import ErrorResponse
from cart_client.models.get_cart_response import GetCartResponse
from cart_client.models.list_carts_response import ListCartsResponse
from cart_client.models.update_cart_item import UpdateCartItem

PIZZA = CartItem(
    menu_key="DINNER",
    menu_version=1,
    menu_item_key=2**62,
    display_name="Pizza",
    currency=Currency.EUR,
    price=9.95,
    quantity=2,
)
client = AuthenticatedClient(os.environ["BASE_URL"], os.environ["TOKEN"])
profile = UUID(os.environ["PROFILE"])

created = create_cart.sync(
    profile,
    client=client,
    body=CreateCart(
        partner_key="DEMO",
        restaurant_key=1,
        platform="test",
        ordering_channel="WEB",
        fulfilment_channel="DELIVERY",
        currency=Currency.EUR,
        items=[PIZZA],
    ),
)
assert isinstance(created, CreateCartResponse)
cart = created.data.cart_id

added = add_item.sync(profile, cart, client=client, body=PIZZA)
assert isinstance(added, AddItemResponse)
item = added.data.item_id

read = get_cart.sync_detailed(profile, cart, client=client)
assert isinstance(read.parsed, GetCartResponse)
assert read.parsed.data.subtotal == 39.8
assert read.parsed.data.items[1].menu_item_key == 2**62
tag = read.headers["ETag"]


def replaced(cart: UUID, currency: Currency, tag: str) -> tuple[int, str | None]:
    body = UpdateCartItem.from_dict({**PIZZA.to_dict(), "currency": currency.value})
    answer = update_item.sync_detailed(profile, cart, item, client=client, body=body, if_match=tag)
    error = answer.parsed
    code = error.notifications[0].code if isinstance(error, ErrorResponse) else None
    return int(answer.status_code), code


assert replaced(cart, Currency.EUR, tag) == (200, None)
assert replaced(cart, Currency.USD, "*") == (400, "currency_mismatch")
assert replaced(uuid4(), Currency.EUR, "*") == (404, "cart_not_found")
assert replaced(cart, Currency.EUR, tag) == (412, "version_mismatch")
change_item.sync(profile, cart, item, client=client, body=ChangeCartItem(quantity=3))
for body, tag in ((ChangeCart(platform="web", note="Ring"), '"4"'), (ChangeCart(note=None), '"5"')):
    answer = change_cart.sync_detailed(profile, cart, client=client, body=body, if_match=tag)
    assert answer.status_code == 200
again = get_cart.sync(profile, cart, client=client)
assert isinstance(again, GetCartResponse)
changed = again.data
assert (changed.subtotal, changed.platform, changed.note) == (49.75, "web", None)
assert remove_item.sync_detailed(profile, cart, item, client=client).status_code == 200
listed = list_carts.sync(profile, client=client)
assert isinstance(listed, ListCartsResponse)
assert [one.item_count for one in listed.data.carts] == [1]
assert delete_cart.sync_detailed(profile, cart, client=client).status_code == 200
assert get_cart.sync_detailed(profile, cart, client=client).status_code == 404
print("done")
