"""Callers who create, read and change carts without rest, and never try twice."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import requests

from tests.support import bodies
from tests.support.callers import HttpApi


class Traffic:
    """What the callers got: how often each status or failure, and seconds to the slowest answer.

    `failures` are the texts of the answers that tell of one.
    """

    def __init__(self) -> None:
        self.answers: Counter[int | str] = Counter()
        self.slowest = 0.0
        self.failures: list[str] = []
        self.over = Event()

    def work(self, caller: HttpApi) -> None:
        while not self.over.is_set():
            cart = self.ask(caller, "POST", "", bodies.cart(items=3, options=2))
            self.ask(caller, "GET", f"/{cart}")
            item = self.ask(caller, "POST", f"/{cart}/items", bodies.item())
            self.ask(caller, "PUT", f"/{cart}/items/{item}", bodies.item(options=5))
            self.ask(caller, "GET", "?limit=5")
            self.ask(caller, "DELETE", f"/{cart}/items/{item}")

    def ask(self, caller: HttpApi, *request: object) -> str:
        """Return the first id of what is answered, or none."""
        try:
            answer = caller.request(*request)
        except requests.RequestException as error:
            self.answers[type(error).__name__] += 1
            return ""
        self.answers[answer.status_code] += 1
        if answer.status_code >= 500:
            self.failures.append(answer.text[:300])
        self.slowest = max(self.slowest, answer.elapsed.total_seconds())
        return "".join(re.findall(r'"(?:cartId|itemId)": ?"([^"]+)', answer.text)[:1])

    def __str__(self) -> str:
        total, answers = self.answers.total(), dict(self.answers)
        return f"{total} requests, {answers}, slowest {self.slowest:.2f} s {self.failures[:5]}"


@contextmanager
def traffic(callers: Sequence[HttpApi]) -> Iterator[Traffic]:
    """Have the callers work until the block ends."""
    found = Traffic()
    with ThreadPoolExecutor(len(callers)) as pool:
        working = [pool.submit(found.work, caller) for caller in callers]
        try:
            yield found
        finally:
            found.over.set()
    for each in working:
        each.result()
