"""A back end that polls List Changes all the while, and what it has missed."""

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import requests

from carts.models.change_feed import SETTLING_SECONDS
from tests.chaos.servers import SIGNING_KEY
from tests.support.callers import HttpApi
from tests.support.told import CHANGES

PATIENCE = 120  # seconds until a service answers that was whole again


class FollowedChanges:
    """Follows the changes of a service until `over`, and then until all are told.

    `versions` is what was told of each cart.
    """

    def __init__(self, url: str, timeout: float, verify: bool | str) -> None:
        claims: dict[str, Any] = {"sub": "follower", "scope": "Cart.Read Cart.AnyProfile"}
        self.api = HttpApi(url, key=SIGNING_KEY, exp=int(time.time()) + 10**6, **claims)
        self.api.base, self.api.timeout, self.api.verify = f"{url}{CHANGES}", timeout, verify
        self.versions: dict[str, int] = {}

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
            cart, version = change["cartId"], change["version"]
            self.versions[cart] = max(version, self.versions.get(cart, 0))

    def missed(self, versions: Iterable[tuple[str, int]]) -> list[str]:
        """Return what was not told, by the version that the database has of each cart at the end.

        A failover may have taken back more than that: commits that were shown and then cancelled.
        """
        return [
            f"version {version} of cart {cart} was not told, the last one was {told}"
            for cart, version in versions
            if version > (told := self.versions.get(cart, 0))
        ]
