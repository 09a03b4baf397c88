"""Recorded callers of one customer's carts, and what the checker says of their histories."""

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.machines.campaign.followed_changes import FollowedChanges
from tests.machines.campaign.history_checker import Operation, judge, loaded
from tests.machines.campaign.observed_carts import NO_CART, in_database
from tests.machines.campaign.recorded_caller import RETRIED, RecordedCaller
from tests.machines.servers import SIGNING_KEY, Service
from tests.support.callers import HttpApi


class RecordedCallers:
    """Callers of one customer's carts. They repeat a request whose answer is one of `retried`.

    Their histories are in `folder`. `stale` reads may show what was; nothing else may. A back end
    may `follow` what they change. A caller makes a `pause` after each step, and has a `token`
    that is minted so.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        stale: bool = False,
        timeout: float = 60,
        verify: bool | str = True,
        follow: bool = False,
        pause: float = 0,
        **token: Any,
    ) -> None:
        self.pause, self.token = pause, {"key": SIGNING_KEY, **token}
        self.url, self.stale, self.timeout, self.verify = url, stale, timeout, verify
        self.retried = RETRIED | ({404} if stale else set())
        self.profile = uuid.uuid4()
        # A folder of its own each time: one profile has one history.
        self.folder = folder / f"history-{self.profile}"
        self.folder.mkdir(parents=True)
        self.created: dict[str, str] = {}  # cart → its key
        self.carts: dict[int, str] = {}  # the cart that each caller has in hand
        self.outcomes: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.writes: list[float] = [time.monotonic()]  # when each was acknowledged
        self.slowest = 0.0  # seconds to the slowest answer
        self.over = threading.Event()
        self.followed = FollowedChanges(url, timeout, verify, **self.token) if follow else None
        # Commits are cancelled: PostgreSQL shows them to readers, and a failover takes them back.
        self.dirty_reads = False
        self.hand = RecordedCaller(self, "hand")
        # One cart and one item in it, which all callers replace.
        self.shared_cart = self.hand.create(1)
        self.shared_item: str = self.hand.read(self.shared_cart)["items"][0][0]

    def caller(self, server: Service) -> HttpApi:
        """Return a caller for the same customer, who records nothing."""
        return HttpApi(server.url, self.profile, key=SIGNING_KEY)

    @property
    def attempts(self) -> int:
        return self.outcomes.total()

    def count(self, done: Operation, status: int) -> None:
        self.outcomes[done["outcome"]] += 1
        self.statuses[status] += 1
        if done["outcome"] == "ok":
            self.slowest = max(self.slowest, done["end"] - done["start"])
            if done["op"] != "read":
                self.writes.append(done["end"])

    def run(self, clients: int, faults: Iterable[Callable[[], Any]]) -> None:
        """Let the clients write while the faults happen one after another."""
        with ThreadPoolExecutor(clients + 1) as pool:
            running = [pool.submit(RecordedCaller(self, f"{n}").work, n) for n in range(clients)]
            if self.followed:
                running.append(pool.submit(self.followed.follow, self.over))
            try:
                for fault in faults:
                    fault()
                    self.wait_for_progress()
            finally:
                self.over.set()
            for client in running:
                client.result()

    def wait_for_progress(self, seconds: float = 90) -> None:
        seen, deadline = len(self.writes), time.monotonic() + seconds
        while len(self.writes) < seen + 20:
            assert time.monotonic() < deadline, "the service does not come back"
            time.sleep(0.02)

    def longest_pause(self, since: float) -> float:
        """Return the seconds of the longest time without an acknowledged write."""
        times = sorted(when for when in list(self.writes) if when > since)
        return max(later - earlier for earlier, later in pairwise([since, *times]))

    def audit(self, connection: Any, *, snapshot: bool = False) -> list[str]:
        """Judge all that was recorded, and what a fresh connection reads after it.

        A `snapshot` was made while the callers were writing. What came later may not be in it.
        """
        now = time.monotonic()
        facts = {"client": "database", "op": "read", "outcome": "ok", "start": now, "end": now}
        if snapshot:
            facts["snapshot"] = True
        last = [{**facts, **cart} for cart in in_database(connection, self.profile)]
        if not snapshot:
            missing = self.created.keys() - {cart["cart"] for cart in last}
            last += [{**facts, "cart": cart, **NO_CART} for cart in missing]
            lines = [json.dumps(read) + "\n" for read in last]
            (self.folder / "database.json").write_text("".join(lines))
        known = loaded(path for path in self.folder.glob("*.json") if path.stem != "database")
        found = judge([*known, *last])
        if self.followed:
            found += self.followed.contradictions((each["cart"], each["version"]) for each in last)
        return found

    def __str__(self) -> str:
        told = sum(map(len, self.followed.told.values())) if self.followed else 0
        return (
            f"{self.attempts} attempts: {dict(self.outcomes)}, slowest {self.slowest:.1f} s; "
            f"{told} changes told"
        )
