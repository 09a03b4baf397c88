"""Carts created and read through the API, to prepare a test and to look at its result."""

from typing import Any

from tests.support import bodies
from tests.support.answers import exact
from tests.support.callers import Caller


def created(api: Caller, body: Any = None) -> str:
    """Create a cart and return its id. By default it has one item with one option."""
    response = api.post(body=bodies.cart() if body is None else body)
    assert response.status_code == 200, response.content
    cart_id: str = response.json()["data"]["cartId"]
    return cart_id


def shown(api: Caller, cart_id: str) -> dict[str, Any]:
    """Return the cart as Get Cart shows it, with exact numbers."""
    response = api.get(f"/{cart_id}")
    assert response.status_code == 200, response.content
    data: dict[str, Any] = exact(response)["data"]
    return data


def created_with_items(api: Caller, *names: str) -> tuple[str, list[str]]:
    """Create a cart with an item for each display name. Return its id and the items' ids."""
    items = [bodies.item(displayName=name) for name in names]
    cart_id = created(api, bodies.cart(items=items))
    return cart_id, [item["itemId"] for item in shown(api, cart_id)["items"]]
