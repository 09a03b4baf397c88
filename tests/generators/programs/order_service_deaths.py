"""Kills the page's order service at any line, and brings it late news of money in any order."""

import json
import os
import random
import sys
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import order_service
from order_service import Refused, call, follow, payment_failed
from order_service_shop import CARTS, PIZZA, Json, Kept, Shop, http, listed, new_cart, read

AHEAD = Path(os.environ["SECONDS_AHEAD"])  # how far the service's clock is ahead


class Clock(datetime):
    """The service's clock."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return datetime.now(tz) + timedelta(seconds=int(AHEAD.read_text()))


order_service.datetime = Clock
order_service.time = SimpleNamespace(sleep=lambda seconds: None)


def go_on(seconds: int) -> None:
    AHEAD.write_text(str(int(AHEAD.read_text()) + seconds))


class Death(BaseException):
    """The end of the order service's process."""


def survives(line: int, work: Callable[..., Any], *values: Any) -> bool:
    """Do some work. At the order service's line of that number, counted as they run, it dies."""
    lines = count(1)

    def trace(frame: FrameType, event: str, value: object) -> Any:
        if frame.f_code.co_filename != order_service.__file__:
            return None
        if event == "line" and next(lines) == line:
            raise Death
        return trace

    sys.settrace(trace)
    try:
        work(*values)
    except Death:
        return False
    finally:
        sys.settrace(None)
    return True


def check(shop: Shop, carts: list[str]) -> None:
    """No money without an order, no order without money, and no cart that is sold twice."""
    taken = {attempt: amount for attempt, amount in shop.money.items() if amount}
    assert taken == {attempt: cart["subtotal"] for attempt, cart in shop.orders.items()}
    sold = [json.dumps([cart["cartId"], cart["items"]]) for cart in shop.orders.values()]
    assert len(sold) == len({*sold}), sold
    for path in carts:
        try:
            cart = read(path)
        except Refused:  # deleted
            continue
        if cart["status"] == "ordered":
            assert shop.orders[cart["reference"]]["items"] == cart["items"]
            assert cart["orderReference"] == shop.place_order(cart["reference"], cart)
        else:
            assert json.dumps([cart["cartId"], cart["items"]]) not in sold


def die_at_each_line() -> None:
    """And start again: at once, or once the news of a failure has come, too."""
    for line in count(1):
        shop, cart = Shop(), new_cart(PIZZA)
        has_survived = survives(line, shop.sell, cart)
        if line % 2:
            for attempt in shop.attempts:
                payment_failed(http, cart, attempt)
        shop.restart()
        if not shop.attempts:  # it died before it began
            assert read(cart)["status"] == "open"
            shop.sell(cart)
        assert len(shop.orders) == 1
        check(shop, [cart])
        if has_survived:
            return


class Evening(Shop):
    """Customers change their carts and pay, and news of their payments comes when it will."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.chance = random.Random(seed)
        self.carts = [new_cart(PIZZA)]
        self.ends: dict[str, str] = {}  # of each attempt's payment
        self.news: list[tuple[str, str, str]] = []
        self.table, self.kept = Kept(), Kept()

    def take_money(self, attempt: str, cart: Json) -> bool:
        if attempt not in self.ends:
            self.ends[attempt] = self.chance.choice(["paid", "failed", "paid later"])
            told = ["failed"] * self.chance.randrange(3)
            if self.ends[attempt] != "failed":
                told += ["paid"] * self.chance.randint(1, 2)
            self.news += [(what, attempt, f"{CARTS}/{cart['cartId']}") for what in told]
            self.at_work.add(attempt)
            try:
                for _ in range(self.chance.choice([0, 0, 1, 2])):
                    self.step()  # while she pays
            finally:
                self.at_work.remove(attempt)
        return self.ends[attempt] == "paid" and super().take_money(attempt, cart)

    def hear(self) -> None:
        """Let some news come. It comes again until it has been heard."""
        if not self.news:
            return
        what, attempt, cart = news = self.chance.choice(self.news)
        if what == "failed":
            payment_failed(http, cart, attempt)
        elif attempt not in self.at_work:
            self.ends[attempt] = "paid"
            self.sell(cart, attempt)
        else:
            return
        if news in self.news:
            self.news.remove(news)

    def change(self) -> None:
        """Add an item, which no other is equal to, or delete the cart."""
        cart = self.chance.choice(self.carts)
        if self.chance.random() < 0.1:
            call(http, "DELETE", cart)
        else:
            call(http, "POST", f"{cart}/items", PIZZA)

    def step(self) -> None:
        steps: list[Callable[[], object]] = [
            lambda: self.carts.append(new_cart(PIZZA)),
            self.change,
            lambda: self.sell(self.chance.choice(self.carts)),
            self.hear,
            self.restart,
            lambda: follow(http, self.table, self.kept),
            lambda: go_on(self.chance.choice([1, 600, 1000])),
        ]
        try:
            self.chance.choices(steps, [2, 3, 6, 6, 2, 2, 2])[0]()
        except Refused as refused:
            if refused.status not in {404, 409, 412}:
                raise

    def end(self) -> None:
        """Let all news come, and the order service go on with all that it has kept."""
        while self.news:
            self.hear()
            self.restart()
        check(self, self.carts)


def facts(carts: Iterable[Json]) -> dict[str, tuple[object, ...]]:
    return {one["cartId"]: (one["version"], one["status"], one["closedUntil"]) for one in carts}


die_at_each_line()

died = 0
for seed in range(int(os.environ["EVENINGS"])):
    evening = Evening(seed)
    for _ in range(25):
        died += not survives(evening.chance.choice([20, 40, 80, 160, 10**9]), evening.step)
    evening.end()
    follow(http, evening.table, evening.kept)
    assert facts(evening.table.values()) == facts(listed())
assert died

# A first copy that dies goes on with its next page. A checkout that runs out is open in the table.
held = new_cart(PIZZA)
call(http, "POST", f"{held}/close", {"outcome": "checkout", "reference": "A"})
table, kept = Kept(), Kept()
deaths = 0
while not survives(700, follow, http, table, kept):
    deaths += 1
    assert deaths < 20
assert deaths
for seconds, status in ((0, "checkout"), (901, "open")):
    go_on(seconds)
    follow(http, table, kept)
    assert table[held.rpartition("/")[2]]["status"] == status
    assert facts(table.values()) == facts(listed())
print("done")
