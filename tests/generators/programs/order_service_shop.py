"""What a page's order service works for: carts, a payment service, and a table that outlives it."""

import json
import os
from collections import UserDict
from typing import Any

import httpx
from order_service import Refused, call, sell

Json = dict[str, Any]

CARTS = f"/v2.0/customers/{os.environ['PROFILE']}/carts"
http = httpx.Client(
    base_url=os.environ["BASE_URL"],
    headers={"Authorization": f"Bearer {os.environ['TOKEN']}"},
    timeout=30,
)
PIZZA = {
    "menuKey": "DINNER",
    "menuVersion": 1,
    "menuItemKey": 42,
    "displayName": "Pizza",
    "currency": "EUR",
    "price": 9.5,
    "quantity": 2,
}


def new_cart(*items: Json) -> str:
    head = {"partnerKey": "DEMO", "restaurantKey": 1, "platform": "app", "currency": "EUR"}
    head |= {"orderingChannel": "APP", "fulfilmentChannel": "DELIVERY", "items": items}
    return f"{CARTS}/{call(http, 'POST', CARTS, head).json()['data']['cartId']}"


def read(cart: str) -> Json:
    found: Json = call(http, "GET", cart).json()["data"]
    return found


def listed() -> list[Json]:
    """Return all carts, without their items."""
    carts: list[Json] = []
    query = "?limit=100"
    while True:
        page = call(http, "GET", f"{CARTS}{query}").json()["data"]
        carts += page["carts"]
        if page["nextCursor"] is None:
            return carts
        query = f"?limit=100&cursor={page['nextCursor']}"


class Kept(UserDict[str, Any]):
    """A table: it keeps what is put into it, and not what is done to that afterwards."""

    def __getitem__(self, key: str) -> Any:
        return json.loads(self.data[key])

    def __setitem__(self, key: str, value: Any) -> None:
        self.data[key] = json.dumps(value)


class Shop:
    """The payment service and the orders. Each does its work once for an attempt."""

    def __init__(self) -> None:
        self.attempts = Kept()
        self.at_work: set[str] = set()  # attempts that a sale is at work on: one at a time
        self.money: dict[str, float] = {}  # what each attempt has paid, and not got back
        self.orders: dict[str, Json] = {}

    def take_money(self, attempt: str, cart: Json) -> bool:
        self.money.setdefault(attempt, cart["subtotal"])
        return True

    def place_order(self, attempt: str, cart: Json) -> str:
        self.orders.setdefault(attempt, cart)
        return f"order-{[*self.orders].index(attempt) + 1}"

    def give_back(self, attempt: str) -> None:
        self.money[attempt] = 0

    def sell(self, cart: str, attempt: str | None = None, **otherwise: Any) -> str | None:
        steps = {step: getattr(self, step) for step in ("take_money", "place_order", "give_back")}
        number: str | None = sell(http, self.attempts, cart, **steps | otherwise, attempt=attempt)
        return number

    def restart(self) -> None:
        """Go on with all attempts. One that is refused is over, and has taken no money."""
        for attempt, kept in [*self.attempts.items()]:
            try:
                if attempt not in self.at_work:
                    self.sell(kept["cart"], attempt)
            except Refused:
                assert attempt not in {*self.attempts, *self.money}
