"""What many tests do through the API on their way to what they are about."""

import json
from decimal import Decimal
from typing import Any

from django.http import HttpResponse

from tests import payloads
from tests.conftest import Api


def success(text: str, data: Any = None) -> dict[str, Any]:
    """Return the whole body of a 200 answer; no `data`, no property of that name."""
    body: dict[str, Any] = {
        "message": text,
        "notifications": [
            {"severity": "Success", "text": text, "code": None, "additionalData": None}
        ],
    }
    return body if data is None else {**body, "data": data}


def exact(response: HttpResponse) -> Any:
    """Return the body with its numbers as they stand in the text, not as doubles."""
    return json.loads(response.content, parse_float=Decimal)


def created(api: Api, body: Any = None) -> str:
    """Create a cart, by default with one item of one option, and return its id."""
    response = api.post(body=payloads.cart() if body is None else body)
    assert response.status_code == 200, response.content
    cart_id: str = response.json()["data"]["cartId"]
    return cart_id


def shown(api: Api, cart_id: str) -> dict[str, Any]:
    """Return the cart as Get Cart shows it, its numbers exact."""
    response = api.get(f"/{cart_id}")
    assert response.status_code == 200, response.content
    data: dict[str, Any] = exact(response)["data"]
    return data


def created_with_items(api: Api, *names: str) -> tuple[str, list[str]]:
    """Create a cart with an item of each display name; return its id and the items' ids."""
    items = [payloads.item(displayName=name) for name in names]
    cart_id = created(api, payloads.cart(items=items))
    return cart_id, [item["itemId"] for item in shown(api, cart_id)["items"]]
