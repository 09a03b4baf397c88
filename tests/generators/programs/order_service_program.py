"""Runs the order service of the page for integrators: evenings that end in every way."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
from order_service import Refused, call, follow, payment_failed, sell
from order_service_shop import CARTS, PIZZA, Json, Kept, Shop, http, listed, new_cart, read

shop = Shop()
orders = shop.orders


def paid() -> list[float]:
    return [amount for amount in shop.money.values() if amount]


def status_of(cart: str) -> tuple[str, str | None]:
    found = read(cart)
    return found["status"], found["orderReference"]


if cart := os.environ.get("CART"):  # that of an app
    print(shop.sell(f"{CARTS}/{cart}"))
    follow(http, {}, {})
    raise SystemExit

usual = new_cart(PIZZA)
assert status_of(usual) == ("open", None)
assert shop.sell(usual) == "order-1"
assert status_of(usual) == ("ordered", "order-1")
assert paid() == [cart["subtotal"] for cart in orders.values()] == [19]

# A payment fails, and another one does not. The news of the first comes again afterwards.
failed: list[str] = []
retried = new_cart(PIZZA)
assert shop.sell(retried, take_money=lambda attempt, _: failed.append(attempt)) is None
assert status_of(retried) == ("open", None)
number = shop.sell(retried)
for _ in range(2):
    payment_failed(http, retried, failed[0])
assert status_of(retried) == ("ordered", number)

# A payment fails, and then the money comes, and the news of it twice.
late = new_cart(PIZZA)
assert shop.sell(late, take_money=lambda attempt, _: failed.append(attempt)) is None
number = shop.sell(late, failed[1])
assert status_of(late) == ("ordered", number) == ("ordered", shop.sell(late, failed[1]))

# While she pays, the checkout ends, and she changes the cart: what she has paid is what she gets.
changed = new_cart(PIZZA)


def ends_and_changes(attempt: str, cart: Json) -> bool:
    call(http, "POST", f"{changed}/reopen")
    call(http, "POST", f"{changed}/items", PIZZA)
    return shop.take_money(attempt, cart)


shop.sell(changed, take_money=ends_and_changes)
assert ([*orders.values()][-1]["subtotal"], read(changed)["subtotal"]) == (19, 38)
assert status_of(changed) == ("open", None)

# While she pays, the checkout ends, and she pays in another tab: the money goes back.
twice = new_cart(PIZZA)


def ends_and_is_paid(attempt: str, cart: Json) -> bool:
    call(http, "POST", f"{twice}/reopen")
    assert shop.sell(twice) == f"order-{len(orders)}"
    return shop.take_money(attempt, cart)


count = len(orders)
assert shop.sell(twice, take_money=ends_and_is_paid) is None
assert len(orders) == len(paid()) == count + 1

# Her attempt outlives a token that has expired.
later = new_cart(PIZZA)
expired = httpx.Client(base_url=http.base_url, headers={"Authorization": "Bearer expired"})
steps = shop.take_money, shop.place_order, shop.give_back
with suppress(Refused):
    sell(expired, shop.attempts, later, *steps, "pay-later")
assert "pay-later" in shop.attempts
assert status_of(later) == ("open", None)
assert shop.sell(later, "pay-later") == f"order-{len(orders)}"

# Five tabs pay at once: one gets the cart, and no other takes money.
crowd = new_cart(PIZZA)


def attempt_of(_tab: int) -> str | None:
    try:
        return shop.sell(crowd)
    except Refused as refused:
        if refused.code not in {"cart_closed", "version_mismatch"}:
            raise
        return None


count = len(orders)
with ThreadPoolExecutor(5) as tabs:
    numbers = [found for found in tabs.map(attempt_of, range(5)) if found]
assert len(numbers) == 1
assert len(orders) == len(paid()) == count + 1

# A cart may be empty, and one may be deleted.
assert shop.sell(new_cart()) is not None
call(http, "DELETE", new_cart())

# The table ends as the carts are, wherever it goes on.
table, kept = Kept(), Kept()
places = ["0"]
expected = {each["cartId"]: (each["version"], each["status"]) for each in listed()}
ends = time.monotonic() + 120
while True:
    follow(http, table, kept)
    places.append(kept["after"])
    if {key: (told["version"], told["status"]) for key, told in table.items()} == expected:
        break
    assert time.monotonic() < ends, (table, expected)
    time.sleep(0.5)
for place in places:
    again = Kept()
    follow(http, again, {"after": place})
    assert again.items() <= table.items()
print("done")
