"""Callers that record what the service acknowledged, and an audit of the database."""

import random
import threading
import time
import uuid
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import requests

from tests.chaos.servers import SIGNING_KEY
from tests.support import bodies
from tests.support.callers import HttpApi

RETRIED = frozenset({409, 503})


def item(writer: str, options: int) -> dict[str, Any]:
    """Return an item whose rows all name the writer and whose quantity counts its options."""
    return bodies.item(
        displayName=writer,
        quantity=options,
        options=[bodies.option(displayName=f"{writer}/{number}") for number in range(options)],
    )


class Ledger:
    """What callers were told. They repeat a request whose answer is one of `retried`."""

    def __init__(self, url: str, *, retried: frozenset[int] = RETRIED) -> None:
        self.url, self.retried = url, retried
        self.created: dict[str, uuid.UUID] = {}  # writer → cart
        self.replaced: dict[uuid.UUID, str] = {}  # item → its last writer
        self.changes: Counter[uuid.UUID] = Counter()  # cart → acknowledged changes
        self.refusals: Counter[int | str] = Counter()
        self.acknowledged = 0
        self.writes: list[float] = [time.monotonic()]  # when each was acknowledged
        self.slowest = 0.0  # seconds to the slowest answer
        self.over = threading.Event()
        self.profile = uuid.uuid4()
        # One cart and one item in it, which all callers replace.
        self.shared_cart, (self.shared_item,) = self.create(self.everybody(), "all", 1)

    def everybody(self) -> HttpApi:
        return HttpApi(self.url, self.profile, key=SIGNING_KEY)

    def insist(self, caller: HttpApi, *request: Any, **headers: str) -> requests.Response:
        """Repeat a request until it is acknowledged, as a careful client would."""
        first = time.monotonic()
        while True:
            started = time.monotonic()
            assert not self.over.is_set() or started < first + 60, "the service is gone"
            try:
                response = caller.request(*request, **headers)
            except requests.RequestException as error:
                self.refusals[type(error).__name__] += 1
            else:
                ended = time.monotonic()
                self.slowest = max(self.slowest, ended - started)
                if response.status_code == 200:
                    self.acknowledged += 1
                    if request[0] != "GET":
                        self.writes.append(ended)
                    return response
                self.refusals[response.status_code] += 1
                # A client could not act on any other answer.
                assert response.status_code in self.retried, response.text
            time.sleep(0.05)

    def create(self, caller: HttpApi, writer: str, items: int) -> tuple[uuid.UUID, list[uuid.UUID]]:
        body = bodies.bare_cart(
            note=writer, items=[item(writer, random.randint(1, 5)) for _ in range(items)]
        )
        created = self.insist(caller, "POST", "", body, Idempotency_Key=writer)
        cart = self.created[writer] = uuid.UUID(created.json()["data"]["cartId"])
        seen = self.insist(caller, "GET", f"/{cart}").json()["data"]
        return cart, [uuid.UUID(each["itemId"]) for each in seen["items"]]

    def replace(self, caller: HttpApi, writer: str, cart: uuid.UUID, item_id: uuid.UUID) -> None:
        body = item(writer, random.randint(1, 5))
        self.insist(caller, "PUT", f"/{cart}/items/{item_id}", body)
        self.changes[cart] += 1

    def write(self, client: int) -> None:
        """Create and replace until the run is over."""
        caller, everybody = HttpApi(self.url, uuid.uuid4(), key=SIGNING_KEY), self.everybody()
        turn = 0
        while not self.over.is_set():
            turn += 1
            writer = f"{client}.{turn}"
            cart, items = self.create(caller, writer, 2)
            for again in "bc":
                self.replace(caller, f"{writer}{again}", cart, items[0])
                self.replaced[items[0]] = f"{writer}{again}"
            self.replace(everybody, writer, self.shared_cart, self.shared_item)

    def run(self, clients: int, faults: list[Any]) -> None:
        """Let the clients write while the faults happen one after another."""
        with ThreadPoolExecutor(clients) as pool:
            running = [pool.submit(self.write, client) for client in range(clients)]
            try:
                for fault in faults:
                    fault()
                    self.wait_for_progress()
            finally:
                self.over.set()
            for client in running:
                client.result()

    def wait_for_progress(self, seconds: float = 20) -> None:
        seen, deadline = len(self.writes), time.monotonic() + seconds
        while len(self.writes) < seen + 20:
            assert time.monotonic() < deadline, "the service does not come back"
            time.sleep(0.02)

    def longest_pause(self, since: float) -> float:
        """Return the seconds of the longest time without an acknowledged write."""
        times = sorted(when for when in list(self.writes) if when > since)
        return max(later - earlier for earlier, later in pairwise([since, *times]))

    def audit(self, connection: Any) -> dict[str, int]:
        """Compare the record with what a fresh connection reads. Every number must be 0."""
        carts = {
            uuid.UUID(str(key)): (note, version)
            for key, note, version in connection.execute("SELECT id, note, version FROM carts_cart")
        }
        options: dict[Any, list[str]] = defaultdict(list)
        for item_id, name in connection.execute(
            "SELECT item_id, display_name FROM carts_cartitemoption ORDER BY item_id, position"
        ):
            options[item_id].append(name)
        items: Counter[uuid.UUID] = Counter()
        lost = mixed = 0
        for key, cart, name, quantity in connection.execute(
            "SELECT id, cart_id, display_name, quantity FROM carts_cartitem"
        ):
            items[uuid.UUID(str(cart))] += 1
            mixed += options[key] != [f"{name}/{number}" for number in range(quantity)]
            expected = self.replaced.get(uuid.UUID(str(key)))
            lost += expected is not None and expected != name
        return {
            "lost": lost
            + sum(carts.get(cart, ("",))[0] != name for name, cart in self.created.items())
            + sum(carts.get(cart, ("", 0))[1] < 1 + count for cart, count in self.changes.items()),
            "twice": len(carts) - len({note for note, _ in carts.values()}),
            "half-written": sum(
                items[cart] != (1 if cart == self.shared_cart else 2) for cart in carts
            ),
            "mixed": mixed,
        }


NOTHING = {"lost": 0, "twice": 0, "half-written": 0, "mixed": 0}
