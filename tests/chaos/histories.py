"""A checker for histories: what callers sent and saw must fit one order of changes.

    python -m tests.chaos.histories FILE…

Each line of a file is a JSON object, an attempt at one operation:

- `client`, `op` (`create`, `add`, `update`, `remove`, `read`), `start` and `end` in seconds of one
  monotonic clock, and `outcome`: `ok`, `refused` (4xx), or `unknown` (503, a timeout, a cut
  connection), which may have taken effect then, later or never.
- `cart`; `item` of an update or remove, and of an acknowledged add; `value`, the item's name, that
  no other write sends; `key`, which the attempts at one create or add have in common; `values` of
  a create; `match`, the version of If-Match; `gone`, for a 404 that the item is not there.
- `version` of an acknowledged change, or null if the answer was a replay. A read has the version,
  0 if there is no such cart, the `key` that created it, `items` as [id, name, worth], and
  `subtotal`. A read with `snapshot` says nothing of its time: it is of a backup, for example.

Every change makes the next version of its cart. So the operations of a cart have one order, in
which every version's state must follow from the one before. What filled a version that nobody was
told of is searched among the unknown attempts.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import inf
from pathlib import Path
from typing import Any

Operation = dict[str, Any]
Items = tuple[tuple[str, str], ...]  # each item's id and name, in the cart's order
CHANGES = frozenset({"add", "update", "remove"})  # a create that is repeated makes no version
TOO_MANY = 20_000  # states of a version that are possible as far as is known


def described(op: Operation) -> str:
    facts = [f"{name} {op[name]}" for name in ("item", "value", "match", "version") if op.get(name)]
    if op["op"] == "read":
        facts.append(str([name for _, name, _ in op["items"]]))
    when = f"{op['start']:.3f} to {op['end']:.3f} s"
    return f"client {op['client']}: {op['op']} {', '.join(facts)} {op['outcome']}, {when}"


def judge(history: Iterable[Operation]) -> list[str]:
    """Return the contradictions of a history. An empty list is a history without one."""
    found: list[str] = []
    creates: dict[str, list[Operation]] = defaultdict(list)  # by key
    carts: dict[str, list[Operation]] = defaultdict(list)  # what was done to each, and its reads
    made: dict[str, set[str]] = defaultdict(set)  # key → carts
    for op in history:
        if op["op"] == "create":
            creates[op["key"]].append(op)
        if op["op"] != "create" or op["outcome"] == "ok":
            carts[op["cart"]].append(op)
        if op.get("cart") and (op["op"] in {"create", "read"} and op.get("key")):
            made[op["key"]].add(op["cart"])
    for key, those in made.items():
        attempts = creates[key]
        if len(those) > 1:
            found.append(f"create {key} made {len(those)} carts: {', '.join(sorted(those))}")
        if not any(op["outcome"] != "refused" for op in attempts):
            found.append(f"create {key} was refused or never sent, but made {', '.join(those)}")
        for cart in those if attempts else ():
            values = attempts[0]["values"]
            found += [f"cart {cart}: {text}" for text in Cart(carts[cart], values).judge()]
    nobodys = carts.keys() - set().union(*made.values())
    return found + [f"cart {cart} exists for nobody" for cart in sorted(nobodys)]


class Cart:
    """What is known of one cart, which was created with items of these names."""

    def __init__(self, history: list[Operation], values: list[str]) -> None:
        self.history, self.values = history, values
        known = [op for op in history if op["outcome"] == "ok" and op["version"] is not None]
        self.known = sorted(known, key=lambda op: op["version"])
        self.timed = [op for op in self.known if not op.get("snapshot")]
        self.reads: dict[int, Operation] = {}
        self.writes: dict[int, Operation] = {}
        self.pending: list[Operation] = []  # changes that may have made any version
        self.ids: dict[str, str] = {}  # the name that an item is created with → its id
        self.states: dict[int, set[Items]] = {}  # version → what it may have been

    def judge(self) -> Iterator[str]:
        """Yield the cart's contradictions."""
        yield from self.seen()
        yield from self.changed()
        yield from self.against_time()
        yield from self.keys()
        yield from self.order()
        yield from self.not_found()

    def seen(self) -> Iterator[str]:
        """Collect the reads. Yield what one version cannot have been."""
        born = {*self.values, *(op["value"] for op in self.history if op["op"] == "add")}
        for op in self.known:
            if op["op"] != "read" or not op["version"]:
                continue
            if (first := self.reads.setdefault(op["version"], op)) is op:
                if sum(worth for *_, worth in op["items"]) != op["subtotal"]:
                    yield f"half of a change, subtotal {op['subtotal']}: {described(op)}"
                for item, name, _ in op["items"]:
                    if name in born:
                        self.ids.setdefault(name, item)
            elif (first["items"], first["subtotal"]) != (op["items"], op["subtotal"]):
                yield f"one version, two states: {described(first)} | {described(op)}"

    def changed(self) -> Iterator[str]:
        """Collect the changes that were acknowledged with their version."""
        for op in self.known:
            if op["op"] in CHANGES:
                if (first := self.writes.setdefault(op["version"], op)) is not op:
                    yield f"two changes made one version: {described(first)} | {described(op)}"
                if op.get("match") and op["version"] != op["match"] + 1:
                    yield f"it does not follow what it matched: {described(op)}"

    def against_time(self) -> Iterator[str]:
        """Yield what shows an earlier version than an operation that had ended before it."""
        ended = iter(sorted(self.timed, key=lambda op: op["end"]))
        last, newest = next(ended, None), None
        for op in sorted(self.timed, key=lambda op: op["start"]):
            while last and last["end"] < op["start"]:
                if not newest or last["version"] > newest["version"]:
                    newest = last
                last = next(ended, None)
            if newest and newest["version"] + (op["op"] in CHANGES) > op["version"]:
                yield f"{described(newest)} was over before {described(op)}"

    def keys(self) -> Iterator[str]:
        """Collect the changes whose version nobody was told. Yield what one key has done twice."""
        keyed: dict[str, list[Operation]] = defaultdict(list)
        for op in self.history:
            if op["op"] == "add":
                keyed[op["key"]].append(op)
            elif op["op"] in {"update", "remove"} and op["outcome"] == "unknown":
                self.pending.append({**op, "by": inf, "identity": str(len(self.pending))})
        for key, attempts in keyed.items():
            done = [op for op in attempts if op["outcome"] == "ok"]
            first = [op for op in done if op["version"] is not None]
            self.ids |= {op["value"]: op["item"] for op in done}
            if len(first) > 1 or len({op["item"] for op in done}) > 1:
                yield f"one key, done twice: {' | '.join(map(described, done))}"
            elif not first and (sent := [op for op in attempts if op["outcome"] != "refused"]):
                # A replay says that it was done. Who looks later must see it.
                over = min((op["end"] for op in done), default=inf)
                by = min((op["version"] for op in self.timed if op["start"] > over), default=inf)
                start = min(op["start"] for op in sent)
                self.pending.append({**sent[0], "start": start, "by": by, "identity": f"key {key}"})

    def order(self) -> Iterator[str]:
        """Make the changes again, version by version. Yield the first that nothing explains."""
        last = max([1, *self.reads, *self.writes])
        over = [inf] * (last + 2)  # when an operation that saw this version or a later one ended
        for op in self.timed:
            over[op["version"]] = min(over[op["version"]], op["end"])
        for version in range(last, -1, -1):
            over[version] = min(over[version], over[version + 1])
        first: Items = tuple((self.ids.get(name, name), name) for name in self.values)
        possible: set[tuple[Items, frozenset[str]]] = {(first, frozenset())}
        for version in range(1, last + 1):
            if version > 1:
                possible = self.after(possible, version, over[version])
            read = self.reads.get(version)
            seen = tuple((item, name) for item, name, _ in read["items"]) if read else None
            due = {op["identity"] for op in self.pending if op["by"] <= version}
            possible = {(s, used) for s, used in possible if seen in {None, s} and due <= used}
            if not possible or len(possible) > TOO_MANY:
                what = "nothing explains" if not possible else "too much may explain"
                yield f"{what} version {version}: {self.evidence(version, due)}"
                return
            self.states[version] = {state for state, _ in possible}

    def after(
        self, possible: set[tuple[Items, frozenset[str]]], version: int, over: float
    ) -> set[tuple[Items, frozenset[str]]]:
        """Return the states of a version, each with the pending changes that are used up.

        An update that nobody saw is not: it might have been any, and all would have to be tried.
        """
        write, found = self.writes.get(version), set()
        changes = [write] if write else [op for op in self.pending if op["start"] < over]
        for state, used in possible:
            tried = set()  # attempts that send the same are alike
            for op in changes:
                effect, identity = (op["op"], op.get("item"), op.get("value")), op.get("identity")
                if effect not in tried and identity not in used:
                    tried.add(effect)
                    if (new := self.applied(op, state)) is not None:
                        unseen = op["op"] == "update" and version not in self.reads
                        found.add((new, used if write or unseen else used | {identity}))
        return found

    def applied(self, op: Operation, state: Items) -> Items | None:
        """Return the items after a change, or None if it cannot be made to them."""
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
                low = max((o["version"] for o in self.timed if o["end"] < op["start"]), default=1)
                later = [o["version"] for o in self.timed if o["start"] > op["end"]]
                high = min(later, default=0)
                states = [s for n in range(low, high + 1) for s in self.states.get(n, {()})]
                if states and all(op["item"] in dict(state) for state in states):
                    yield f"not found, but in versions {low} to {high}: {described(op)}"

    def evidence(self, version: int, due: set[str]) -> str:
        """Return what is known of a version: who made and saw it, and the one before."""
        here = [op for op in (self.writes.get(version), self.reads.get(version)) if op]
        names = {name for op in here for _, name, _ in op.get("items") or () if op["op"] == "read"}
        must = [op for op in self.pending if op["identity"] in due]
        sent = [op for op in self.history if op.get("value") in names and op not in here]
        before = [[name for _, name in s] for s in list(self.states.get(version - 1, ()))[:3]]
        return " | ".join(
            [*map(described, [*here, *must, *sent[-9:]]), f"version {version - 1} was {before}"]
        )


def loaded(paths: Iterable[Path]) -> Iterator[Operation]:
    for path in paths:
        with path.open() as lines:
            yield from map(json.loads, lines)


if __name__ == "__main__":
    contradictions = judge(loaded(map(Path, sys.argv[1:])))
    print("\n".join(contradictions) or "no contradiction")
    sys.exit(bool(contradictions))
