"""What one caller may cost the others: attacks, shortly, held rows, and a limited rate."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import requests

from tests.chaos.attacks import prepared
from tests.chaos.hostile import LARGE, Target
from tests.chaos.servers import PATIENT, RAISED, SIGNING_KEY, Service, held_row, service, timed
from tests.chaos.trial import Caller, honest, tried
from tests.support import bodies
from tests.support.carts import created_with_items
from tests.support.clusters import Cluster
from tests.support.programs import wait_until

# What a bad or large body may get. A body that is refused before it is read may get none.
LAWFUL = {"200", "400", "503", "none", "held"}
THREADS = 3


@pytest.fixture(scope="module")
def target(cluster: Cluster) -> Iterator[Target]:
    with service(cluster.url(), **RAISED) as server:
        yield prepared(Target(server.port, {"key": SIGNING_KEY}))


@pytest.mark.parametrize(
    "name",
    [
        "bad bodies, 500 items of 100 empty options",
        "lawful bodies, 500 items of 10 options",
        "numbers of 300 digits",
        "slow readers, 16 of the largest cart",
        "stalled heads, 64",
        "stalled bodies, and reads of the largest cart",
    ],
)
def test_an_attack_keeps_nobody_from_an_answer(target: Target, name: str) -> None:
    result = tried(name, target, 2)

    assert result.answers
    assert set(result.answers) <= LAWFUL
    for seen in (result.before, result.during, result.after):
        assert seen.waits
        assert not seen.refused
    # No thread is kept: as many large bodies as there are threads pass again.
    large = target.request("POST", target.carts, json.dumps(LARGE).encode())
    assert [Caller(target, kept=False).ask(large)[0] for _ in range(8)] == ["200"] * 8
    assert not honest(target, 0.5).refused


@pytest.fixture(scope="module")
def patient(cluster: Cluster) -> Iterator[Service]:
    one_process: dict[str, Any] = {"WEB_CONCURRENCY": "1", "THREADS": str(THREADS)}
    with service(cluster.url(), DJANGO_SETTINGS_MODULE=PATIENT, **one_process) as server:
        yield server


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/items/{item}", bodies.item()),
        ("POST", "/items", bodies.item()),
        ("DELETE", "/items/{item}", None),
        ("DELETE", "", None),
    ],
    ids=["replace", "add", "remove", "delete"],
)
def test_changes_of_a_held_cart_leave_a_thread(
    cluster: Cluster, patient: Service, method: str, path: str, body: Any
) -> None:
    """The row is held for as long as the other bearer needs, and so is every thread but one."""
    anna, ben = patient.caller(sub="anna", kept=False), patient.caller(sub="ben", kept=False)
    cart, [item] = created_with_items(anna, "Pizza")
    change = partial(anna.request, method, f"/{cart}{path.format(item=item)}", body)
    key = {"Idempotency_Key": item} if method == "POST" else {}
    with ThreadPoolExecutor(THREADS) as pool:
        with held_row(cluster, cart):
            hers = [pool.submit(change, **key) for _ in range(THREADS)]
            wait_until(lambda: any(one.done() for one in hers))

            assert ben.post("", bodies.cart()).status_code == 200

            [refused] = [one.result() for one in hers if one.done()]
            assert refused.status_code == 503
            assert refused.headers["Retry-After"] == "1"
        done = sorted(one.result().status_code for one in hers)
    assert done[-1] == 503
    assert done[0] == 200


def test_a_rate_holds_exactly_across_workers(
    redis: tuple[str, subprocess.Popen[bytes]],
) -> None:
    url, process = redis
    with service(THROTTLE_RATE="50/day", CACHE_URL=url, WEB_CONCURRENCY="3") as server:
        bearer = [server.caller(sub="fast") for _ in range(12)]
        other = server.caller(sub="patient")
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda n: bearer[n % 12].get(), range(150)))
        assert Counter(answer.status_code for answer in answers) == {200: 50, 429: 100}
        left = Counter(int(answer.headers["RateLimit-Remaining"]) for answer in answers)
        assert left == {**dict.fromkeys(range(1, 50), 1), 0: 101}
        assert other.get().status_code == 200
        assert requests.get(f"{server.url}/healthz", timeout=60).ok

        # A failing rate limit must not take the service down with it.
        process.kill()
        process.wait()
        unlimited, seconds = timed(bearer[0], "GET")
        assert unlimited.status_code == 200
        assert "RateLimit-Limit" not in unlimited.headers
        assert seconds < 2
