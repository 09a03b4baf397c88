"""A caller that records what it sent and saw, for the checker of histories to judge."""

import json
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import requests

from tests.machines.campaign.history_checker import OPEN, Operation
from tests.machines.campaign.observed_carts import NO_CART, as_read, closing_of, named_item
from tests.support import bodies
from tests.support.callers import HttpApi

if TYPE_CHECKING:
    from tests.machines.campaign.recorded_callers import RecordedCallers

NO_ANSWER = 0
# 502 and 504 are HAProxy's, of an instance that died or froze.
UNKNOWN = frozenset({NO_ANSWER, 502, 503, 504})
RETRIED = UNKNOWN | {409}  # by a careful client
# Others change the same carts.
EXPECTED = {"read": {404}, "update": {404, 412}, "remove": {404}, "late news": {409}}
CHANGES = 60  # of a cart before another takes its place: short histories are judged in no time
ITEMS = 6  # in a cart, about


class RecordedCaller:
    """One caller, and a file with a line for each of its attempts."""

    def __init__(self, callers: "RecordedCallers", name: str) -> None:
        self.callers, self.name = callers, name
        self.file = callers.folder / f"{name}.json"
        forever = int(time.time()) + 10**6
        # Requests of one bearer would wait for each other.
        claims = {"sub": f"caller {name}", "exp": forever}
        self.api = HttpApi(callers.url, callers.profile, **callers.token, **claims)
        self.api.timeout, self.api.verify = callers.timeout, callers.verify
        self.sent = 0
        self.failed = ""  # the last attempt to pay that has failed
        self.seen: dict[str, Operation] = {}  # cart → what the last read showed

    def fresh(self) -> str:
        """Return a name that no other write has."""
        self.sent += 1
        return f"{self.name}.{self.sent}x{random.randint(1, 5)}"

    def insist(
        self, op: str, method: str, path: str = "", body: Any = None, **facts: Any
    ) -> Operation:
        """Repeat a request until it is acknowledged or refused, as a careful client would.

        Of updates and removals whose outcome is unknown, half are left so.
        """
        first = time.monotonic()
        while True:
            started = time.monotonic()
            assert not self.callers.over.is_set() or started < first + 60, "the service is gone"
            done, status = self.attempt(op, method, path, body, facts)
            expected = status in EXPECTED.get(op, ())
            given_up = op in {"update", "remove"} and status in UNKNOWN and random.random() < 0.5
            if status not in self.callers.retried or expected or given_up:
                return done
            time.sleep(0.05)

    def attempt(
        self, op: str, method: str, path: str, body: Any, facts: dict[str, Any]
    ) -> tuple[Operation, int]:
        """Send a request once. Return what is to be recorded of it, and its status."""
        headers = {}
        if "key" in facts:
            headers["Idempotency_Key"] = facts["key"]
        if "match" in facts:
            headers["If_Match"] = f'"{facts["match"]}"'
        dirty = self.callers.dirty_reads
        done: Operation = {"client": self.name, "op": op, **facts, "start": time.monotonic()}
        answer = requests.Response()
        answer.status_code = NO_ANSWER
        with suppress(requests.RequestException):
            answer = self.api.request(method, path, body, **headers)
        done["end"] = time.monotonic()
        dirty = dirty or self.callers.dirty_reads
        status, tag = answer.status_code, answer.headers.get("ETag")
        # A replay has the tag of the first answer: it made no version.
        made = status == 200 and "Idempotent-Replayed" not in answer.headers
        done["version"] = int(tag.strip('"')) if tag and made else None
        done["outcome"] = "unknown" if status in UNKNOWN else "refused"
        missing = status == 404 and not self.callers.stale
        if status == 200:
            done["outcome"] = "ok"
            self.understand(done, answer.json().get("data"))
        elif missing and op == "read":
            done |= {"outcome": "ok", **NO_CART}
        elif missing and "item_not_found" in answer.text:
            done["gone"] = not dirty
        if dirty and op == "read":
            done["outcome"] = "unknown"
        with self.file.open("a") as file:
            file.write(json.dumps(done) + "\n")
        self.callers.count(done, status)
        # A client could not act on any other answer.
        lawful = {*self.callers.retried, *EXPECTED.get(op, ())}
        lawful |= set() if op == "late news" else {200}
        assert status in lawful, (status, answer.text)
        return done, status

    def understand(self, done: Operation, data: Any) -> None:
        """Add to a successful operation what its answer says."""
        if done["op"] == "create":
            done |= {"cart": data["cartId"], "version": 1}
        elif done["op"] == "add":
            done["item"] = data["itemId"]
        elif done["op"] == "read":
            done |= as_read(data)
            if self.callers.stale:
                done["snapshot"] = True

    def create(self, items: int) -> str:
        key, values = self.fresh(), [self.fresh() for _ in range(items)]
        body = bodies.bare_cart(note=key, items=[named_item(name) for name in values])
        for _ in range(self.times()):
            done = self.insist("create", "POST", "", body, key=key, values=values)
        self.callers.created[done["cart"]] = key
        return str(done["cart"])

    def read(self, cart: str) -> Operation:
        done = self.insist("read", "GET", f"/{cart}", cart=cart)
        if done["outcome"] == "ok":
            self.seen[cart] = done
        return done

    def add(self, cart: str) -> None:
        value = self.fresh()
        facts = {"cart": cart, "key": value, "value": value}
        for _ in range(self.times()):
            self.insist("add", "POST", f"/{cart}/items", named_item(value), **facts)

    @staticmethod
    def times() -> int:
        """Return how often a request is sent: some repeat one that was acknowledged."""
        return 2 if random.random() < 0.1 else 1

    def update(self, cart: str, item_id: str, version: int) -> None:
        """Replace an item, sometimes only if the cart has the version."""
        value = self.fresh()
        facts: dict[str, Any] = {"cart": cart, "item": item_id, "value": value}
        if random.random() < 0.2:
            facts["match"] = version
        self.insist("update", "PUT", f"/{cart}/items/{item_id}", named_item(value), **facts)

    def remove(self, cart: str, item_id: str) -> None:
        self.insist("remove", "DELETE", f"/{cart}/items/{item_id}", cart=cart, item=item_id)

    def pay(self, cart: str) -> None:
        """Hold the cart for an attempt to pay. It fails, or becomes an order and is taken back.

        News of one that failed before may come late, and opens nothing.
        """
        attempt, number, late = self.fresh(), self.fresh(), self.failed
        self.end(cart, "close", outcome="checkout", reference=attempt)
        if late:
            self.insist("late news", "POST", f"/{cart}/reopen", {"reference": late}, cart=cart)
        if random.random() < 0.5:
            self.failed = attempt
            self.end(cart, "reopen", reference=attempt)
            return
        ordered = {"outcome": "ordered", "reference": attempt}
        self.end(cart, "close", **ordered)
        self.end(cart, "close", **ordered, orderReference=number)
        self.end(cart, "reopen")

    def end(self, cart: str, op: str, **body: str) -> None:
        status, reference = body.get("outcome", OPEN), body.get("reference")
        value = closing_of(status, reference, body.get("orderReference"))
        facts = {"cart": cart, "key": self.fresh(), "value": value}
        for _ in range(self.times()):
            self.insist(op, "POST", f"/{cart}/{op}", body or None, **facts)

    def work(self, slot: int) -> None:
        """Create, add, update, remove, pay and read until the run is over."""
        carts, own = self.callers.carts, 0
        carts[slot] = self.create(2)
        while not self.callers.over.is_set():
            own += 1
            if own % CHANGES == 0:
                carts[slot] = self.create(random.randint(0, 3))
            if random.random() < 0.03:
                cart = self.callers.shared_cart
            else:  # half of the time another's
                cart = random.choice([carts[slot], random.choice(list(carts.values()))])
            self.step(cart)
            time.sleep(self.callers.pause)

    def step(self, cart: str) -> None:
        """Do something to a cart. In the shared one, the item is replaced and nothing else."""
        what, seen = random.random(), self.seen.get(cart)
        if what < 0.4 or not seen:
            self.read(cart)
        elif cart == self.callers.shared_cart:
            self.update(cart, self.callers.shared_item, seen["version"])
        elif not seen["items"] or (what < 0.55 and len(seen["items"]) < ITEMS):
            self.add(cart)
        elif what < 0.85:
            self.update(cart, random.choice(seen["items"])[0], seen["version"])
        elif what < 0.97:
            self.remove(cart, random.choice(seen["items"])[0])
        else:
            self.pay(cart)
