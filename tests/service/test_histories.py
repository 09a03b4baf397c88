"""The checker of histories accepts what may happen and refuses what must not."""

from typing import Any

import pytest

from tests.machines.campaign.history_checker import Operation, judge

ATTEMPT = {"client": "1", "cart": "C", "outcome": "ok", "version": None}


def attempt(op: str, start: float, end: float, **facts: Any) -> Operation:
    """Return an attempt on cart C, acknowledged unless the facts say otherwise."""
    return {**ATTEMPT, "op": op, "start": start, "end": end, **facts}


def create(*values: str, **facts: Any) -> Operation:
    return attempt("create", 0, 0.1, **{"key": "k", "values": values, "version": 1, **facts})


def read(at: float, version: int, *names: str, **facts: Any) -> Operation:
    items = [[name[0].upper(), name, 100] for name in names]
    shown = {"version": version, "key": "k", "items": items, "subtotal": 100 * len(names)}
    return attempt("read", at, at + 0.5, **shown | facts)


def add(at: float, value: str, version: int | None = None, **facts: Any) -> Operation:
    known = {"item": value[0].upper()} if facts.get("outcome", "ok") == "ok" else {}
    sent = {"value": value, "key": value, "version": version}
    return attempt("add", at, at + 0.5, **sent | known | facts)


def update(at: float, item: str, value: str, version: int | None = None, **facts: Any) -> Operation:
    return attempt("update", at, at + 0.5, item=item, value=value, version=version, **facts)


def remove(at: float, item: str, version: int | None = None, **facts: Any) -> Operation:
    return attempt("remove", at, at + 0.5, item=item, version=version, **facts)


def end(at: float, op: str, value: str, version: int | None = None, **facts: Any) -> Operation:
    sent = {"value": value, "key": f"{at}", "version": version}
    return attempt(op, at, at + 0.5, **sent | facts)


HELD, ORDERED = "checkout p1 None", "ordered p1 None"

FIRST = [create("a"), read(0.2, 1, "a")]
LOST: dict[str, Any] = {"outcome": "unknown", "version": None}
REFUSED: dict[str, Any] = {"outcome": "refused", "version": None}

ACCEPTED = {
    "nothing unusual": [
        read(1, 1, "a"),
        add(2, "b", 2),
        update(3, "A", "a2", 3),
        read(4, 3, "a2", "b"),
        remove(5, "B", 4),
        read(6, 4, "a2"),
    ],
    "an unknown add that took effect late": [
        add(1, "b", **LOST),
        read(2, 1, "a"),
        read(9, 2, "a", "b"),
    ],
    "an unknown add whose repetition is a replay": [
        add(1, "b", **LOST),
        add(2, "b", None),
        read(3, 2, "a", "b"),
    ],
    "an unknown removal that took effect, and a 404": [
        remove(1, "A", **LOST),
        remove(2, "A", gone=True, **REFUSED),
        read(3, 2),
    ],
    "operations at the same time, in either order": [
        {**update(1, "A", "a2", 3), "end": 5},
        {**update(1, "A", "a3", 2), "end": 5},
        read(4, 2, "a3"),
        read(6, 3, "a2"),
    ],
    "a cart that is paid, gets the order's number, and is opened again": [
        end(1, "close", HELD, 2),
        read(2, 2, "a", closing=HELD),
        end(3, "close", ORDERED, 3),
        end(4, "close", "ordered p1 17", **LOST),
        {**end(5, "close", "ordered p1 17"), "key": "4"},
        read(6, 4, "a", closing="ordered p1 17"),
        end(7, "reopen", "open", 5),
        update(8, "A", "a2", 6),
    ],
    "a backup made before the last change": [add(1, "b", 2), read(9, 1, "a", snapshot=True)],
    "a create and an add, each repeated with its key": [
        {**create("a"), "start": 1, "end": 2},
        add(2, "b", 2),
        add(3, "b", None),
        update(4, "B", "b2", 3),
        add(5, "b", None),
        read(6, 3, "a", "b2"),
    ],
    "a create whose answer was lost": [
        create(key="l", cart=None, **LOST),
        read(3, 1, key="l", cart="D"),
    ],
}

REFUTED = {
    "a lost append": ([add(1, "b", 2), update(2, "A", "a2", 3), read(3, 3, "a2")], "version 3"),
    "a change of a cart that is held": (
        [end(1, "close", HELD, 2), update(2, "A", "a2", 3)],
        "0 states explain version 3",
    ),
    "a cart that two attempts to pay hold": (
        [end(1, "close", HELD, 2), end(2, "close", "checkout p2 None", 3)],
        "0 states explain version 3",
    ),
    "an order of another attempt than holds the cart": (
        [end(1, "close", HELD, 2), end(2, "close", "ordered p2 None", 3)],
        "0 states explain version 3",
    ),
    "an order without its number": (
        [end(1, "close", "ordered p1 17", 2), read(2, 2, "a", closing=ORDERED)],
        "0 states explain version 2",
    ),
    "a doubled create": ([read(1, 1, "a"), read(2, 1, "a", cart="D")], "made 2 carts"),
    "a doubled append of which both were acknowledged": (
        [add(1, "b", 2), add(2, "b", 3)],
        "done twice",
    ),
    "a stale read": ([add(1, "b", 2), read(2, 1, "a")], "was over before"),
    "half of a change, by the subtotal": (
        [update(1, "A", "a2", **LOST), read(2, 2, "a2", subtotal=99)],
        "half of a change",
    ),
    "one version, two states": (
        [
            update(1, "A", "a2", **LOST),
            update(1, "A", "a3", **LOST),
            read(2, 2, "a2"),
            read(3, 2, "a3"),
        ],
        "0 states explain version 2",
    ),
    "one version, two changes": (
        [update(1, "A", "a2", 2), {**update(1, "A", "a3", 2), "client": "2"}],
        "two changes",
    ),
    "versions against time": (
        [update(1, "A", "a2", 3), update(2, "A", "a3", 2)],
        "was over before",
    ),
    "a replay that is absent at the end": (
        [add(1, "b", **LOST), add(2, "b", None), read(9, 1, "a")],
        "version 1",
    ),
    "a cart that is absent at the end": ([read(9, 0)], "was over before"),
    "a refused change that took effect": (
        [update(1, "A", "a2", **REFUSED), read(2, 2, "a2")],
        "version 2",
    ),
    "a change that took effect before it was sent": (
        [read(1, 2, "a", "b"), add(2, "b", **LOST)],
        "version 2",
    ),
    "an unknown change that took effect twice": (
        [
            update(1, "A", "a2", **LOST),
            update(2, "A", "a3", 3),
            read(3, 4, "a2"),
            read(1.6, 2, "a2"),
        ],
        "version 4",
    ),
    "a lost update despite If-Match": ([update(1, "A", "a2", 3, match=1)], "does not follow"),
    "an item that is not found, but was there": (
        [read(1, 1, "a"), update(2, "A", "a2", gone=True, **REFUSED), read(3, 1, "a")],
        "not found, but in",
    ),
    "a cart that nobody created": ([read(1, 1, "a", cart="D", key="other")], "never sent"),
}


@pytest.mark.parametrize("history", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(history: list[Operation]) -> None:
    assert judge([*FIRST, *history]) == []


@pytest.mark.parametrize(("history", "verdict"), REFUTED.values(), ids=REFUTED)
def test_refuted(history: list[Operation], verdict: str) -> None:
    assert verdict in "\n".join(judge([*FIRST, *history]))
