"""Rolling restarts: two instances restart one after the other, and no request fails.

Each instance restarts once. The long form has six restarts of each:

    RESTARTS=6 pytest tests/chaos/test_rolling_restart.py -s
"""

import os
import uuid
from collections.abc import Iterator

import pytest

from tests.chaos.proxies import HOST, haproxy, nginx
from tests.chaos.servers import SIGNING_KEY, Service, is_ready, service
from tests.chaos.traffic import traffic
from tests.support.callers import HttpApi
from tests.support.clusters import Cluster
from tests.support.programs import free_port, wait_until

RESTARTS = int(os.environ.get("RESTARTS", "1"))
CALLERS = 6


@pytest.fixture(scope="module")
def instances(cluster: Cluster) -> Iterator[list[Service]]:
    """Two instances, each as on a machine of its own."""
    port = free_port()
    env = {"ALLOWED_HOSTS": f"{HOST},127.0.0.1", "HTTPS_ONLY": "false"}
    with (
        service(cluster.url(), BIND=f"127.0.0.2:{port}", **env) as one,
        service(cluster.url(), BIND=f"127.0.0.3:{port}", **env) as two,
    ):
        yield [one, two]


def restart_each(instances: list[Service], callers: list[HttpApi]) -> None:
    """Restart every instance RESTARTS times under load, and check that all was answered."""
    with traffic(callers) as seen:
        for instance in instances * RESTARTS:
            instance.restart()
            wait_until(lambda each=instance: is_ready(each.url))
            before = seen.answers.total()
            wait_until(lambda before=before: seen.answers.total() > before + 50)
    print(f"\n{RESTARTS} rolling restarts: {seen}")
    assert seen.answers.keys() == {200}


def customer(url: str, verify: bool | str = True) -> HttpApi:
    """Return a caller with a token of its own. The requests of one would wait for each other."""
    profile = uuid.uuid4()
    caller = HttpApi(url, profile, key=SIGNING_KEY, profileKey=str(profile))
    caller.verify = verify
    return caller


def test_behind_nginx(instances: list[Service]) -> None:
    with nginx(*instances) as proxy:
        callers = [customer(proxy.url, proxy.certificate) for _ in range(CALLERS)]
        restart_each(instances, callers)


def test_behind_haproxy(instances: list[Service]) -> None:
    with haproxy(cartsvc=instances[0].port) as balanced:
        wait_until(lambda: is_ready(balanced.url))
        callers = [customer(balanced.url) for _ in range(CALLERS)]
        restart_each(instances, callers)
