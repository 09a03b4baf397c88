"""Every place of a field in a request: the cart, item or option of each operation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import simplejson
from django.http import HttpResponse

from tests.support import bodies
from tests.support.answers import assert_refused
from tests.support.callers import Api
from tests.support.carts import created, shown
from tests.support.not_sent import sent
from tests.support.operations import CART_CHANGES, send


def raw(literal: str) -> Any:
    """Return a value that the body will contain exactly as `literal`."""
    return simplejson.RawJSON(literal)


@dataclass(frozen=True)
class Place:
    """A part of an operation's body: the cart, an item or an option.

    In a list, it is the second of its kind.
    """

    operation: str
    part: str

    def __str__(self) -> str:
        return f"{self.operation}-{self.part}"

    @property
    def pointer(self) -> str:
        items = "/items/1" if self.operation == "Create Cart" else ""
        return {"cart": "", "item": items, "option": f"{items}/options/1"}[self.part]

    def body(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return a valid body with `changes` to this part. NOT_SENT omits a field."""
        if self in CHANGEABLE:
            return changes
        part = sent(getattr(bodies, self.part)() | changes)
        if self.part == "option":
            part = bodies.item(options=[bodies.option(), part])
        if self.part != "cart" and self.operation == "Create Cart":
            part = bodies.cart(items=[bodies.item(), part])
        return part


PLACES = [
    Place("Create Cart", "cart"),
    *[Place(operation, "item") for operation in ("Create Cart", "Add Item", "Update Item")],
    *[Place(operation, "option") for operation in ("Create Cart", "Add Item", "Update Item")],
]
# A change takes these, and demands none.
CHANGEABLE = {
    Place("Change Cart", "cart"): CART_CHANGES,
    Place("Change Item", "item"): ("quantity", "specialInstructions"),
}


class Target:
    """Sends values to a place and reads them back."""

    def __init__(self, api: Api, place: Place) -> None:
        self.api, self.place = api, place
        self.cart_id = self.item_id = ""
        if place.operation != "Create Cart":
            self.cart_id = created(api)
            self.item_id = shown(api, self.cart_id)["items"][0]["itemId"]

    def send(self, **changes: Any) -> HttpResponse:
        body = simplejson.dumps(self.place.body(changes))
        return send(self.api, self.place.operation, self.cart_id, self.item_id, body)

    def refuses(self, code: str, text: str, facts: Mapping[str, object], **sent: Any) -> None:
        """Send a field, which must be refused with this alone."""
        [field] = sent
        where = f"{self.place.pointer}/{field}"
        assert_refused(self.send(**sent), 400, code, text, where, **facts)

    def value_after(self, field: str, response: HttpResponse) -> Any:
        """Send a field, which must succeed. Return its value as Get Cart shows it."""
        assert response.status_code == 200, response.content
        cart_id = self.cart_id or response.json()["data"]["cartId"]
        part = shown(self.api, cart_id)
        if self.place.part != "cart":
            part = part["items"][-1]
        if self.place.part == "option":
            part = part["options"][1]
        return part[field]


def everywhere(fields: dict[str, dict[str, Any]]) -> list[Any]:
    """Return (place, field, detail) for each field in each place of its part."""
    return [
        pytest.param(place, name, detail, id=f"{place}-{name}")
        for place in (*PLACES, *CHANGEABLE)
        for name, detail in fields.get(place.part, {}).items()
        if place not in CHANGEABLE or name in CHANGEABLE[place]
    ]
