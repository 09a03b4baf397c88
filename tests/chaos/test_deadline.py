"""A database that takes every request and answers none: 503 within five seconds."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import requests

from tests.chaos.servers import Service, service, timed
from tests.chaos.test_recovery import unavailable
from tests.support import bodies
from tests.support.callers import HttpApi
from tests.support.carts import created, shown
from tests.support.clusters import Cluster
from tests.support.programs import wait_until

# The contract's "within 5 seconds".
PATIENCE_SECONDS = 5

CALLERS = 3


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Iterator[Service]:
    # One thread more than there are callers, for the health check.
    with service(cluster.url(), WEB_CONCURRENCY="1", THREADS=str(CALLERS + 1)) as running:
        yield running


def answered(calls: list[Callable[[], Any]]) -> list[requests.Response]:
    """Make the calls at once. Return their answers, which came in time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        answers = list(pool.map(lambda call: call(), calls))
    print([f"{seconds:.2f} s" for _, seconds in answers], end=" ")
    assert max(seconds for _, seconds in answers) < PATIENCE_SECONDS
    return [answer for answer, _ in answers]


def items_of_carts(cluster: Cluster, caller: HttpApi) -> list[int]:
    """Return how many items each of the caller's carts has in the database, oldest first."""
    counted = cluster.execute(
        "SELECT count(i.id) FROM carts_cart c LEFT JOIN carts_cartitem i ON i.cart_id = c.id"
        f" WHERE c.profile_key = '{caller.base.split('/')[-2]}' GROUP BY c.id ORDER BY c.id"
    )
    return [count for (count,) in counted]


def test_a_frozen_server(cluster: Cluster, server: Service) -> None:
    caller = server.caller()
    cart = created(caller)
    item = shown(caller, cart)["items"][0]["itemId"]
    calls = [
        lambda: timed(caller, "GET", f"/{cart}"),
        lambda: timed(caller, "POST", "", bodies.cart(items=3)),
        lambda: timed(caller, "PUT", f"/{cart}/items/{item}", bodies.item()),
    ]
    assert all(answer.ok for answer in answered(calls))  # each thread has a connection now
    before = shown(caller, cart)
    with cluster.frozen(), ThreadPoolExecutor(1) as pool:
        kept = pool.submit(answered, calls)
        while not kept.done():
            assert requests.get(f"{server.url}/healthz", timeout=PATIENCE_SECONDS).ok
        assert all(map(unavailable, kept.result()))
        # Those connections are gone, and new ones cannot be made.
        assert all(map(unavailable, answered(calls)))
    assert shown(caller, cart) == before
    assert all(answer.ok for answer in answered(calls))
    assert items_of_carts(cluster, caller) == [1, 3, 3]


@contextmanager
def standby_gone(cluster: Cluster) -> Iterator[None]:
    """Let every COMMIT wait for a standby that does not come."""
    cluster.configure("SET synchronous_standby_names = 'nobody'")
    try:
        yield
    finally:
        cluster.configure("RESET synchronous_standby_names")
        wait_until(lambda: not committing(cluster))


def committing(cluster: Cluster) -> list[int]:
    """Return the server's processes that wait for the standby."""
    found = cluster.execute("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    return [pid for (pid,) in found]


def test_a_commit_whose_standby_is_gone(cluster: Cluster, server: Service) -> None:
    caller = server.caller()
    cart = created(caller)
    with standby_gone(cluster):
        create = ("POST", "", bodies.cart(items=3))
        assert unavailable(*answered([lambda: timed(caller, *create, Idempotency_Key="once")]))
        assert len(committing(cluster)) == 1
        assert caller.get(f"/{cart}").status_code == 200
        # It is open whether the first will have happened.
        assert caller.request(*create, Idempotency_Key="once").status_code == 409
    again = caller.request(*create, Idempotency_Key="once")
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert items_of_carts(cluster, caller) == [1, 3]


@pytest.mark.parametrize("end", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_commit_that_is_cancelled(cluster: Cluster, server: Service, end: str) -> None:
    """The server has committed, and says in a warning only that its standby has not."""
    caller = server.caller()
    with standby_gone(cluster), ThreadPoolExecutor(1) as pool:
        answer = pool.submit(caller.post, "", bodies.cart(items=3), Idempotency_Key="once")
        wait_until(lambda: committing(cluster))
        cluster.execute(f"SELECT {end}({committing(cluster)[0]})")
        assert unavailable(answer.result())
    assert items_of_carts(cluster, caller) == [3]
    assert caller.post("", bodies.cart(items=3), Idempotency_Key="once").status_code == 200
    assert items_of_carts(cluster, caller) == [3]
