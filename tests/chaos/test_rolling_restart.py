"""Rolling restarts: two instances restart one after the other, and no request fails.

Each instance restarts once. The long form has six restarts of each:

    RESTARTS=6 pytest tests/chaos/test_rolling_restart.py -s
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import requests

from tests.chaos.proxies import HOST, haproxy, nginx
from tests.chaos.servers import SIGNING_KEY, Service, service
from tests.support import bodies
from tests.support.callers import HttpApi
from tests.support.clusters import Cluster
from tests.support.programs import free_port, wait_until

RESTARTS = int(os.environ.get("RESTARTS", "1"))
CALLERS = 6


@pytest.fixture(scope="module")
def instances(cluster: Cluster) -> Iterator[list[Service]]:
    """Two instances, each as on a machine of its own, with the drain that is the default."""
    port = free_port()
    env = {"ALLOWED_HOSTS": f"{HOST},127.0.0.1", "HTTPS_ONLY": "false", "DRAIN_SECONDS": "5"}
    with (
        service(cluster.url(), BIND=f"127.0.0.2:{port}", **env) as one,
        service(cluster.url(), BIND=f"127.0.0.3:{port}", **env) as two,
    ):
        yield [one, two]


class Callers:
    """Six callers who create carts, read them and add items without rest, and never try twice."""

    def __init__(self, url: str, verify: bool | str = True) -> None:
        self.url, self.verify = url, verify
        self.answers: Counter[int | str] = Counter()
        self.slowest = 0.0
        self.over = threading.Event()

    def call(self, _number: int) -> None:
        caller = HttpApi(self.url, key=SIGNING_KEY)
        caller.verify = self.verify
        created = self.ask(caller, "POST", "", bodies.cart())
        while not self.over.is_set():
            path = f"/{created.json()['data']['cartId']}" if created is not None else ""
            self.ask(caller, "GET", path)
            self.ask(caller, "POST", f"{path}/items" if path else "", bodies.item())
            created = self.ask(caller, "POST", "", bodies.cart()) or created

    def ask(self, caller: HttpApi, *request: object) -> requests.Response | None:
        started = time.monotonic()
        try:
            answer = caller.request(*request)
        except requests.RequestException as error:
            self.answers[repr(error)] += 1
            return None
        self.slowest = max(self.slowest, time.monotonic() - started)
        self.answers[answer.status_code] += 1
        return answer if answer.ok else None


def restart_each(instances: list[Service], url: str, verify: bool | str = True) -> None:
    """Restart every instance RESTARTS times under load, and check that all was answered."""
    callers = Callers(url, verify)
    with ThreadPoolExecutor(CALLERS) as pool:
        calling = [pool.submit(callers.call, number) for number in range(CALLERS)]
        try:
            for _ in range(RESTARTS):
                for instance in instances:
                    instance.restart()
                    wait_until(lambda each=instance: is_ready(each))
                    seen = callers.answers.total()
                    wait_until(lambda seen=seen: callers.answers.total() > seen + 50)
        finally:
            callers.over.set()
        for each in calling:
            each.result()
    print(
        f"\n{RESTARTS} rolling restarts: {callers.answers.total()} requests, "
        f"{dict(callers.answers)}, slowest {callers.slowest:.2f} s"
    )
    assert callers.answers.keys() == {200}


def is_ready(instance: Service) -> bool:
    return requests.get(f"{instance.url}/readyz", timeout=60).ok


def test_behind_nginx(instances: list[Service]) -> None:
    with nginx(*instances) as proxy:
        restart_each(instances, proxy.url, proxy.certificate)


def test_behind_haproxy(instances: list[Service]) -> None:
    with haproxy(cartsvc=instances[0].port) as balanced:
        wait_until(lambda: answers(balanced.url))
        restart_each(instances, balanced.url)


def answers(url: str) -> bool:
    with suppress(requests.RequestException):
        return requests.get(f"{url}/readyz", timeout=60).ok
    return False
