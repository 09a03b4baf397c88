"""A back end that polls List Changes all the while, and what it was not told, or not in order."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import requests

from carts.models.cart_change import MAX_CHANGES
from carts.models.change_feed import SETTLING_SECONDS
from tests.support.callers import HttpApi

PATIENCE = 120  # seconds until a service answers that was whole again


class FollowedChanges:
    """Follows the changes of a service until `over`, and then until all are told.

    Its token is minted so. `told` has the versions of each cart, as they came.
    """

    def __init__(self, url: str, timeout: float, verify: bool | str, **token: Any) -> None:
        claims: dict[str, Any] = {"sub": "follower", "scope": "Cart.Read Cart.AnyProfile"}
        self.api = HttpApi(url, exp=int(time.time()) + 10**6, **token, **claims)
        self.api.base, self.api.timeout, self.api.verify = f"{url}/v2.0/changes", timeout, verify
        self.told: defaultdict[str, list[int]] = defaultdict(list)

    def follow(self, over: threading.Event) -> None:
        after, settled, patience = "0", 0.0, 0.0
        while True:
            if over.is_set() and not settled:
                settled = time.monotonic() + SETTLING_SECONDS + 1
                patience = settled + PATIENCE
            assert not patience or time.monotonic() < patience, "List Changes does not answer"
            began, data = time.monotonic(), None
            with suppress(requests.RequestException):
                answer = self.api.get(f"?after={after}")
                if answer.status_code == 200:
                    data = answer.json()["data"]
            if data:
                self.understand(data["changes"])
                if data["next"] == after and settled and began > settled:
                    return
                after = data["next"]
            time.sleep(0.1)

    def understand(self, changes: Iterable[Any]) -> None:
        for change in changes:
            self.told[change["cartId"]].append(change["version"])

    def contradictions(self, versions: Iterable[tuple[str, int]]) -> list[str]:
        """Return what was not told once and in order, by the version of each cart at the end.

        Of a cart with very many changes, only the last are kept. A failover may have taken back
        what was told beyond the end: commits that were shown and then cancelled.
        """
        found = []
        for cart, version in versions:
            told = self.told[cart]
            missed = {*range(max(1, version - MAX_CHANGES + 1), version + 1)}.difference(told)
            if missed:
                found.append(f"of cart {cart}, versions {sorted(missed)} were not told")
            if told != sorted({*told}):
                found.append(f"of cart {cart}, versions were told twice or out of order: {told}")
        return found
