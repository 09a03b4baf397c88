"""Calls every operation with the client of openapi-python-client."""

import os
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID, uuid4

from cart_client import AuthenticatedClient
from cart_client.api.carts import (
    change_cart,
    close_cart,
    create_cart,
    delete_cart,
    get_cart,
    list_carts,
    reopen_cart,
)
from cart_client.api.items import (
    add_item,
    add_items,
    change_item,
    remove_item,
    replace_items,
    update_item,
)
from cart_client.models import (
    AddItems,
    CartItem,
    ChangeCart,
    ChangeCartItem,
    CloseCart,
    CloseCartOutcome,
    CreateCart,
    ErrorResponse,
    PlacedCartItem,
    ReplaceItems,
    UpdateCartItem,
)
from cart_client.types import Response

Answer = TypeVar("Answer")
PIZZA = CartItem(
    menu_key="DINNER",
    menu_version=1,
    menu_item_key=2**62,
    display_name="Pizza",
    currency="EUR",
    price=9.95,
    quantity=2,
)
client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["TOKEN"])
profile = UUID(os.environ["PROFILE"])


def done(call: Callable[..., Response[ErrorResponse | Answer]], *keys: Any, **sent: Any) -> Answer:
    """Return the answer of a call, which is not refused."""
    answer = call(*keys, client=client, **sent).parsed
    assert answer is not None
    assert not isinstance(answer, ErrorResponse)
    return answer


new = CreateCart(
    partner_key="DEMO",
    restaurant_key=1,
    platform="test",
    ordering_channel="WEB",
    fulfilment_channel="DELIVERY",
    currency="EUR",
    items=[PIZZA],
)
cart = done(create_cart.sync_detailed, profile, body=new).data.cart_id
item = done(add_item.sync_detailed, profile, cart, body=PIZZA).data.item_id
read = done(get_cart.sync_detailed, profile, cart).data
assert read.subtotal == 39.8
assert read.items[1].menu_item_key == 2**62


def replaced(cart: UUID, currency: str, tag: str) -> tuple[int, str | None]:
    body = UpdateCartItem.from_dict({**PIZZA.to_dict(), "currency": currency})
    answer = update_item.sync_detailed(profile, cart, item, client=client, body=body, if_match=tag)
    assert answer.parsed is not None
    return answer.status_code, answer.parsed.notifications[0].code


assert replaced(cart, "EUR", '"2"') == (200, None)
assert replaced(cart, "USD", "*") == (400, "currency_mismatch")
assert replaced(uuid4(), "EUR", "*") == (404, "cart_not_found")
assert replaced(cart, "EUR", '"2"') == (412, "version_mismatch")
done(change_item.sync_detailed, profile, cart, item, body=ChangeCartItem(quantity=3))
for change in (ChangeCart(platform="web", note="Ring twice"), ChangeCart(note=None)):
    done(change_cart.sync_detailed, profile, cart, body=change)
changed = done(get_cart.sync_detailed, profile, cart).data
assert (changed.subtotal, changed.platform, changed.note) == (49.75, "web", None)
done(remove_item.sync_detailed, profile, cart, item)
shown = "return=representation"
batch = AddItems(items=[PIZZA, PIZZA])
several = done(add_items.sync_detailed, profile, cart, body=batch, prefer=shown).data
assert several.cart
assert len(several.cart.items) == 3
whole = PlacedCartItem.from_dict({**PIZZA.to_dict(), "itemId": str(several.item_ids[0])})
listed = done(replace_items.sync_detailed, profile, cart, body=ReplaceItems(items=[whole]))
assert listed.data.item_ids == several.item_ids[:1]
closing = CloseCart(outcome=CloseCartOutcome.CHECKOUT, reference="payment-1")
closed = done(close_cart.sync_detailed, profile, cart, body=closing, prefer=shown).data
assert closed
assert closed.status == "checkout"
done(reopen_cart.sync_detailed, profile, cart)
assert [one.item_count for one in done(list_carts.sync_detailed, profile).data.carts] == [1]
done(delete_cart.sync_detailed, profile, cart)
print("done")
