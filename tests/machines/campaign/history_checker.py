"""A checker for histories: what callers sent and saw must fit one order of changes.

    python -m tests.machines.campaign.history_checker FILE…

Each line of a file is a JSON object, an attempt at one operation:

- `client`, `op` (`create`, `add`, `update`, `remove`, `close`, `reopen`, `read`), `start` and `end`
  in seconds of one monotonic clock, and `outcome`: `ok`, `refused` (4xx), or `unknown` (503, a
  timeout, a cut connection), which may have taken effect then, later or never.
- `cart`; `item` of an update or remove, and of an acknowledged add; `value`, the item's name, that
  no other write sends, or the `closing` that a close or a reopen makes; `key`, which the attempts
  at one create, add, close or reopen have in common; `values` of a create; `match`, the version of
  If-Match; `gone`, for a 404 that the item is not there.
- `version` of an acknowledged change, or null if the answer was a replay. A read has the version,
  0 if there is no such cart, the `key` that created it, `items` as [id, name, worth], `subtotal`,
  and `closing`: `open`, or a status with its reference and the order's number. A read with
  `snapshot` says nothing of its time: it is of a backup, for example.

Every change makes the next version of its cart. So the operations of a cart have one order, in
which every version's state must follow from the one before. What filled a version that nobody was
told of is searched among the unknown attempts.
"""

import json
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from math import inf
from pathlib import Path
from typing import Any

Operation = dict[str, Any]
# How the cart is closed, and each item's id and name, in the cart's order.
Items = tuple[tuple[str, str], ...]
State = tuple[Items, frozenset[str]]  # with the pending changes that are used up
# A create that is repeated makes no version.
CHANGES = frozenset({"add", "update", "remove", "close", "reopen"})
OPEN = "open"
TOO_MANY = 20_000  # states of a version that are possible as far as is known


def described(op: Operation) -> str:
    facts = [f"{name} {op[name]}" for name in ("item", "value", "match", "version") if op.get(name)]
    if op["op"] == "read":
        facts.append(str([name for _, name, _ in op["items"]]))
    when = f"{op['start']:.3f} to {op['end']:.3f} s"
    return f"client {op['client']}: {op['op']} {', '.join(facts)} {op['outcome']}, {when}"


def leads_to(closing: str, new: str) -> bool:
    """Return whether a cart that is closed in one way may be closed in another next, or opened."""
    if OPEN in {closing, new}:
        return closing != new
    (status, reference, _), (later, same, _) = closing.split(), new.split()
    return reference == same and later == "ordered" and status in {"checkout", "ordered"}


def judge(history: Iterable[Operation]) -> list[str]:
    """Return the contradictions of a history. An empty list is a history without one."""
    found: list[str] = []
    creates: dict[str | None, list[Operation]] = defaultdict(list)  # by key
    carts: dict[str, list[Operation]] = defaultdict(list)  # what was done to each, and its reads
    made: dict[str | None, list[str]] = defaultdict(list)  # key → carts
    for op in history:
        if op["op"] == "create":
            creates[op["key"]].append(op)
        if op.get("cart"):
            carts[op["cart"]].append(op)
    for cart, ops in carts.items():
        keys = (op.get("key") for op in ops if op["op"] in {"create", "read"})
        key = next(filter(None, keys), None)
        made[key].append(cart)
        if any(op["outcome"] != "refused" for op in creates[key]):
            values = creates[key][0]["values"]
            found += [f"cart {cart}: {text}" for text in Cart(ops, values).judge()]
        else:
            found.append(f"cart {cart}: its create {key} was refused or never sent")
    doubled = {key: those for key, those in made.items() if len(those) > 1}
    return found + [f"create {key} made {len(those)} carts" for key, those in doubled.items()]


class Cart:
    """What is known of one cart, which was created with items of these names."""

    def __init__(self, history: list[Operation], values: list[str]) -> None:
        self.history, self.values = history, values
        known = [op for op in history if op["outcome"] == "ok" and op["version"] is not None]
        self.timed = [op for op in known if not op.get("snapshot")]
        self.ended = sorted(self.timed, key=lambda op: op["end"])
        self.newest = list(accumulate((op["version"] for op in self.ended), max))
        self.reads: dict[int, list[Operation]] = defaultdict(list)
        self.writes: dict[int, list[Operation]] = defaultdict(list)
        for op in known:
            if op["version"] and op["op"] in {"read", *CHANGES}:
                (self.reads if op["op"] == "read" else self.writes)[op["version"]].append(op)
        self.pending: list[Operation] = []  # changes that may have made any version
        self.ids: dict[str, str] = {}  # the name that an item is created with → its id
        self.states: dict[int, set[Items]] = {}  # version → what it may have been

    def judge(self) -> Iterator[str]:
        """Yield the cart's contradictions."""
        for check in (self.versions, self.against_time, self.keys, self.order, self.not_found):
            yield from check()

    def versions(self) -> Iterator[str]:
        """Yield what one version cannot have been."""
        born = {*self.values, *(op["value"] for op in self.history if op["op"] == "add")}
        for op in chain(*self.reads.values()):
            self.ids |= {name: item for item, name, _ in op["items"] if name in born}
            if sum(worth for *_, worth in op["items"]) != op["subtotal"]:
                yield f"half of a change, subtotal {op['subtotal']}: {described(op)}"
        for ops in self.writes.values():
            if len(ops) > 1:
                yield f"two changes made one version: {' | '.join(map(described, ops))}"
            for op in ops:
                if op.get("match") and op["version"] != op["match"] + 1:
                    yield f"it does not follow what it matched: {described(op)}"

    def seen_before(self, moment: float) -> int:
        """Return the newest version that an operation showed which had ended by then."""
        ended = bisect_left(self.ended, moment, key=lambda op: op["end"])
        return self.newest[ended - 1] if ended else 0

    def seen_after(self, moment: float) -> float:
        """Return the oldest version that an operation showed which began later."""
        return min((op["version"] for op in self.timed if op["start"] > moment), default=inf)

    def against_time(self) -> Iterator[str]:
        """Yield what shows an earlier version than an operation that had ended before it."""
        for op in self.timed:
            seen = self.seen_before(op["start"])
            if seen + (op["op"] in CHANGES) > op["version"]:
                yield f"version {seen} was over before {described(op)}"

    def keys(self) -> Iterator[str]:
        """Collect the changes whose version nobody was told. Yield what one key has done twice."""
        keyed: dict[str, list[Operation]] = defaultdict(list)
        for op in self.history:
            if op["op"] in {"add", "close", "reopen"}:
                keyed[op["key"]].append(op)
            elif op["op"] in CHANGES and op["outcome"] == "unknown":
                self.pending.append({**op, "by": inf, "identity": str(len(self.pending))})
        for key, attempts in keyed.items():
            done = [op for op in attempts if op["outcome"] == "ok"]
            first = [op for op in done if op["version"] is not None]
            sent = [op for op in attempts if op["outcome"] != "refused"]
            self.ids |= {op["value"]: op["item"] for op in done if op["op"] == "add"}
            if len(first) > 1 or len({op.get("item") for op in done}) > 1:
                yield f"one key, done twice: {' | '.join(map(described, done))}"
            elif sent and not first:
                # A replay says that it was done. Who looks later must see it.
                by = self.seen_after(min((op["end"] for op in done), default=inf))
                start = min(op["start"] for op in sent)
                self.pending.append({**sent[0], "start": start, "by": by, "identity": f"key {key}"})

    def order(self) -> Iterator[str]:
        """Make the changes again, version by version. Yield the first that nothing explains."""
        last = max([1, *self.reads, *self.writes])
        over = [inf] * (last + 1)  # when an operation that saw this version or a later one ended
        for op in self.timed:
            over[op["version"]] = min(over[op["version"]], op["end"])
        over = list(accumulate(reversed(over), min))[::-1]
        first = (("", OPEN), *((self.ids.get(name, name), name) for name in self.values))
        possible: set[State] = {(first, frozenset())}
        for version in range(1, last + 1):
            before, possible = possible, self.after(possible, version, over[version])
            seen = {
                (("", op.get("closing", OPEN)), *((item, name) for item, name, _ in op["items"]))
                for op in self.reads[version]
            }
            due = {op["identity"] for op in self.pending if op["by"] <= version}
            possible = {(s, used) for s, used in possible if seen <= {s} and due <= used}
            if not possible or len(possible) > TOO_MANY:
                known = [*self.writes[version], *self.reads[version]]
                was = [[name for _, name in state] for state, _ in list(before)[:3]]
                what = f"{len(possible)} states explain version {version} after {was}"
                yield " | ".join([what, *due, *map(described, known)])
                return
            self.states[version] = {state for state, _ in possible}

    def after(self, possible: set[State], version: int, over: float) -> set[State]:
        """Return what a version may be, by what the one before may be.

        An update that nobody saw is not used up: it might have been any, and all would have to be
        tried.
        """
        if version == 1:
            return possible
        write, found = self.writes[version], set()
        for state, used in possible:
            tried = set()  # attempts that send the same are alike
            for op in write or [op for op in self.pending if op["start"] < over]:
                effect, identity = (op["op"], op.get("item"), op.get("value")), op.get("identity")
                if effect not in tried and identity not in used:
                    tried.add(effect)
                    if (new := self.applied(op, state)) is not None:
                        unseen = op["op"] == "update" and not self.reads[version]
                        found.add((new, used if write or unseen else used | {identity}))
        return found

    def applied(self, op: Operation, state: Items) -> Items | None:
        """Return the items after a change, or None if it cannot be made to them."""
        (_, closing), *items = state
        if op["op"] in {"close", "reopen"}:
            return (("", op["value"]), *items) if leads_to(closing, op["value"]) else None
        if closing != OPEN:
            return None
        if op["op"] == "add":
            return (*state, (self.ids.get(op["value"], op["value"]), op["value"]))
        if op["item"] not in dict(state):
            return None
        if op["op"] == "remove":
            return tuple(each for each in state if each[0] != op["item"])
        return tuple((item, op["value"] if item == op["item"] else name) for item, name in state)

    def not_found(self) -> Iterator[str]:
        """Yield each 404 for an item that was there all the while."""
        for op in self.history:
            if op.get("gone"):
                low, high = self.seen_before(op["start"]), self.seen_after(op["end"])
                states = [s for n in self.states if low <= n <= high < inf for s in self.states[n]]
                if states and all(op["item"] in dict(state) for state in states):
                    yield f"not found, but in versions {low} to {high}: {described(op)}"


def loaded(paths: Iterable[Path]) -> Iterator[Operation]:
    for path in paths:
        with path.open() as lines:
            yield from map(json.loads, lines)


if __name__ == "__main__":
    contradictions = judge(loaded(map(Path, sys.argv[1:])))
    print("\n".join(contradictions) or "no contradiction")
    sys.exit(bool(contradictions))
