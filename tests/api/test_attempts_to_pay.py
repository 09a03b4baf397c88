"""Attempts to pay for one cart, late news and clocks that go back, against a model of the contract.

The model knows no more than what the page for integrators says.
"""

import os
import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.support.answers import errors_of
from tests.support.callers import Api
from tests.support.carts import created, shown

SEEDS = range(40 if os.environ.get("CI") else 8)
STEPS = 40


@dataclass
class End:
    """How the cart is closed, if it is. A checkout `ends` by itself."""

    status: str = "open"
    reference: str | None = None
    number: str | None = None
    since: datetime | None = None
    ends: datetime | None = None

    def at(self, now: datetime) -> "End":
        return End() if self.ends and self.ends <= now else self


class Model:
    """What the service must answer. A method returns the field of a 409, or None for a 200."""

    def __init__(self) -> None:
        self.stored, self.version = End(), 1

    def close(self, now: datetime, body: dict[str, Any]) -> str | None:
        held, outcome, reference = self.stored.at(now), body["outcome"], body.get("reference")
        ends = now + timedelta(seconds=body["seconds"]) if outcome == "checkout" else None
        new = End(outcome, reference, body.get("orderReference"), now, ends)
        if held.status != "open":
            if held.reference != reference and None not in (held.reference, reference):
                return "/reference"
            if held.status == outcome and held.reference != reference:
                return "/reference"
            if held.status != outcome and (held.status, outcome) != ("checkout", "ordered"):
                return "/outcome"
        if held.status == outcome:
            new = replace(held, number=new.number or held.number)
            if held.ends and held.since and held.ends - held.since != ends - now:
                new = replace(held, since=now, ends=ends)
        self.write(held, new)
        return None

    def reopen(self, now: datetime, reference: str | None) -> str | None:
        held = self.stored.at(now)
        is_its_checkout = (held.status, held.reference) == ("checkout", reference)
        if held.status != "open" and reference is not None and not is_its_checkout:
            return "/reference"
        self.write(held, End())
        return None

    def change(self, now: datetime) -> str | None:
        """Return None, or "" for a 409: nothing in a closed cart changes."""
        if self.stored.at(now).status != "open":
            return ""
        self.stored, self.version = End(), self.version + 1
        return None

    def write(self, held: End, new: End) -> None:
        if new != held:
            self.stored, self.version = new, self.version + 1


def body(chance: random.Random) -> dict[str, Any]:
    outcome = chance.choice(["checkout", "checkout", "ordered", "ordered", "abandoned"])
    sent: dict[str, Any] = {"outcome": outcome, "reference": chance.choice("AB")}
    if outcome == "checkout":
        sent["seconds"] = chance.choice([60, 600])
    elif outcome == "ordered":
        sent["orderReference"] = chance.choice([None, "1", "2"])
    elif chance.random() < 0.5:
        del sent["reference"]
    return sent


@pytest.mark.parametrize("seed", SEEDS)
def test_any_order_of_attempts(api: Api, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance, model, cart_id = random.Random(seed), Model(), created(api)
    now = datetime.now(UTC)
    monkeypatch.setattr(timezone, "now", lambda: now)
    steps = []
    for number in range(STEPS):
        now += timedelta(seconds=chance.choice([1, 1, 30, 300, 900, -300]))
        what = chance.choice(["close", "close", "reopen", "change"])
        if what == "close":
            sent: Any = body(chance)
            answer, expected = api.post(f"/{cart_id}/close", sent), model.close(now, sent)
        elif what == "reopen":
            reference = chance.choice(["A", "B", None])
            sent = {"reference": reference} if reference else None
            answer = api.post(f"/{cart_id}/reopen", sent)
            expected = model.reopen(now, reference)
        else:
            sent = {"note": f"{number}"}
            answer, expected = api.patch(f"/{cart_id}", sent), model.change(now)
        steps.append((now.isoformat(), what, sent))
        if expected is None:
            assert answer.status_code == 200, steps
            assert answer["ETag"] == f'"{model.version}"', steps
        else:
            assert answer.status_code == 409, steps
            assert errors_of(answer) == [("cart_closed", expected or None)], steps
        cart, end = shown(api, cart_id), model.stored.at(now)
        found = [cart[name] for name in ("version", "status", "reference", "orderReference")]
        assert found == [model.version, end.status, end.reference, end.number], steps
        for name, moment in (("closedOn", end.since), ("closedUntil", end.ends)):
            assert (cart[name] and datetime.fromisoformat(cart[name])) == moment, steps
