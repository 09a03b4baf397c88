"""Runs the order service of the page for integrators: evenings that end in every way."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from order_service import Refused, call, follow, payment_failed, sell

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
money: dict[str, float] = {}  # by attempt
orders: list[Json] = []


def new_cart(*items: Json) -> str:
    head = {"partnerKey": "DEMO", "restaurantKey": 1, "platform": "app", "currency": "EUR"}
    head |= {"orderingChannel": "APP", "fulfilmentChannel": "DELIVERY", "items": items}
    return f"{CARTS}/{call(http, 'POST', CARTS, head).json()['data']['cartId']}"


def read(cart: str) -> Json:
    found: Json = call(http, "GET", cart).json()["data"]
    return found


def take_money(attempt: str, cart: Json) -> bool:
    money[attempt] = cart["subtotal"]
    return True


def place_order(cart: Json) -> str:
    orders.append(cart)
    return f"order-{len(orders)}"


def give_back(attempt: str) -> None:
    del money[attempt]


def sold(cart: str, **otherwise: Any) -> str | None:
    steps = {"take_money": take_money, "place_order": place_order, "give_back": give_back}
    number: str | None = sell(http, cart, **steps | otherwise)
    return number


def status_of(cart: str) -> tuple[str, str | None]:
    found = read(cart)
    return found["status"], found["orderReference"]


if cart := os.environ.get("CART"):  # that of an app
    print(sold(f"{CARTS}/{cart}"))
    follow(http, {})
    raise SystemExit

usual = new_cart(PIZZA)
assert status_of(usual) == ("open", None)
assert sold(usual) == "order-1"
assert status_of(usual) == ("ordered", "order-1")
assert [*money.values()] == [orders[0]["subtotal"]] == [19]

# A payment fails, and another one does not. The news of the first comes again afterwards.
failed: list[str] = []
retried = new_cart(PIZZA)
assert sold(retried, take_money=lambda attempt, _: failed.append(attempt)) is None
assert status_of(retried) == ("open", None)
number = sold(retried)
for _ in range(2):
    payment_failed(http, retried, failed[0])
assert status_of(retried) == ("ordered", number)

# While she pays, the checkout ends, and she changes the cart: what she has paid is what she gets.
changed = new_cart(PIZZA)


def ends_and_changes(attempt: str, cart: Json) -> bool:
    call(http, "POST", f"{changed}/reopen")
    call(http, "POST", f"{changed}/items", PIZZA)
    return take_money(attempt, cart)


sold(changed, take_money=ends_and_changes)
assert (orders[-1]["subtotal"], read(changed)["subtotal"]) == (19, 38)
assert status_of(changed) == ("open", None)

# While she pays, the checkout ends, and she pays in another tab: the money goes back.
twice = new_cart(PIZZA)


def ends_and_is_paid(attempt: str, cart: Json) -> bool:
    call(http, "POST", f"{twice}/reopen")
    assert sold(twice) == f"order-{len(orders)}"
    return take_money(attempt, cart)


count = len(orders)
assert sold(twice, take_money=ends_and_is_paid) is None
assert len(orders) == len(money) == count + 1

# Five tabs pay at once: one gets the cart, and no other takes money.
crowd = new_cart(PIZZA)


def attempt_of(_tab: int) -> str | None:
    try:
        return sold(crowd)
    except Refused as refused:
        if refused.code not in {"cart_closed", "version_mismatch"}:
            raise
        return None


count = len(orders)
with ThreadPoolExecutor(5) as tabs:
    numbers = [found for found in tabs.map(attempt_of, range(5)) if found]
assert len(numbers) == 1
assert len(orders) == len(money) == count + 1

# A cart may be empty, and one may be deleted.
assert sold(new_cart()) is not None
call(http, "DELETE", new_cart())

# The table ends as the carts are, wherever it goes on.
table: dict[str, Json] = {}
places = ["0"]
listed = call(http, "GET", f"{CARTS}?limit=100").json()["data"]["carts"]
expected = {each["cartId"]: (each["version"], each["status"]) for each in listed}
ends = time.monotonic() + 120
while True:
    places.append(follow(http, table, places[-1]))
    if {key: (told["version"], told["status"]) for key, told in table.items()} == expected:
        break
    assert time.monotonic() < ends, (table, expected)
    time.sleep(0.5)
for place in places:
    again: dict[str, Json] = {}
    follow(http, again, place)
    assert again.items() <= table.items()
print("done")
