"""A database that is frozen, down or full: 503 in time, and 200 afterwards."""

import os
import re
import resource
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from tests.machines.servers import (
    SIGNING_KEY,
    Service,
    is_ready,
    readiness,
    service,
    timed,
)
from tests.support import bodies
from tests.support.callers import HttpApi
from tests.support.carts import created, created_with_items, shown
from tests.support.clusters import Cluster, private_cluster
from tests.support.operations import send
from tests.support.poolers import Pooler, pooled
from tests.support.programs import FOLDERS, ROOT, manage, wait_until

# On a machine that may be busy. The contract's "within 5 seconds" is of a quiet one; without a
# deadline, a caller here would wait for a minute.
PATIENCE_SECONDS = 15
# More threads than callers, for the health checks.
PROCESS = {"WEB_CONCURRENCY": "1", "THREADS": "4"}

Outage = Callable[[Cluster], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Iterator[Service]:
    with service(cluster.url(), **PROCESS) as running:
        yield running


@pytest.fixture
def behind_a_pooler(cluster: Cluster) -> Iterator[Service]:
    """The service behind a pooler whose database is set as the error to start says."""
    with pooled(cluster.url()) as pooler:
        secrets = {"SECRET_KEY": "s3cret-0123456789" * 4, "JWT_SIGNING_KEY": SIGNING_KEY}
        refused = manage("serve", **pooler.variables, **secrets)
        assert refused.returncode != 0
        assert refused.stderr.count("cartsvc.E034") == 4, refused.stderr
        for statement in re.findall("ALTER ROLE .*?;", refused.stderr):
            cluster.execute(statement)
        have_it_connect_anew(pooler)
        address = pooler.variables["DATABASE_URL"]
        with service(address, **pooler.variables, **PROCESS) as running:
            yield running
    cluster.execute("ALTER ROLE postgres RESET ALL")


def have_it_connect_anew(pooler: Pooler) -> None:
    """Run the README's command for it: the pooler's sessions are older than the role's settings."""
    section = (ROOT / "cartsvc/deploy/README.md").read_text().partition("## A pooler\n")[2]
    (command,) = re.findall("`(runuser .*? RECONNECT)`", section)
    if os.geteuid() != 0:  # then the pooler runs as this very user
        command = command.removeprefix("runuser -u postgres -- ")
    subprocess.run(
        ["bash", "-euc", command],
        cwd="/",
        env={"PATH": FOLDERS, "SOCKET_DIR": pooler.folder, "LISTEN_PORT": str(pooler.port)},
        check=True,
        timeout=60,
    )


def unavailable(answer: requests.Response) -> bool:
    code = answer.json()["notifications"][0]["code"]
    return (answer.status_code, code) == (503, "unavailable") and "Retry-After" in answer.headers


def answered(calls: Sequence[Callable[[], Any]]) -> list[requests.Response]:
    """Make the calls at once. Return their answers, which came in time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        answers = list(pool.map(lambda call: call(), calls))
    print([f"{seconds:.2f} s" for _, seconds in answers], end=" ")
    assert max(seconds for _, seconds in answers) < PATIENCE_SECONDS
    return [answer for answer, _ in answers]


def items_of_carts(caller: HttpApi) -> list[int]:
    """Return how many items each of the caller's carts has."""
    carts = caller.get().json()["data"]["carts"]
    return sorted(len(shown(caller, cart["cartId"])["items"]) for cart in carts)


@contextmanager
def down(cluster: Cluster) -> Iterator[None]:
    cluster.stop("immediate")
    try:
        yield
    finally:
        cluster.start()


def comes_back(cluster: Cluster, server: Service, outage: Outage) -> None:
    """Nothing is half-written meanwhile, and a health check is answered."""
    caller = server.caller()
    cart, [item] = created_with_items(caller, "Pizza")
    calls = [
        partial(timed, caller, "GET", f"/{cart}"),
        partial(timed, caller, "POST", "", bodies.cart(items=3)),
        partial(timed, caller, "PUT", f"/{cart}/items/{item}", bodies.item()),
    ]
    assert all(answer.ok for answer in answered(calls))  # each thread has a connection now
    before = shown(caller, cart)
    with outage(cluster), ThreadPoolExecutor(1) as pool:
        kept = pool.submit(answered, calls)
        while not kept.done():
            assert requests.get(f"{server.url}/healthz", timeout=60).ok
        assert all(map(unavailable, kept.result()))
        # Those connections are gone, and new ones cannot be made.
        assert all(map(unavailable, answered(calls)))
        assert readiness(server) == (503, "database unavailable")
    wait_until(lambda: is_ready(server.url))
    assert shown(caller, cart) == before
    assert all(answer.ok for answer in answered(calls))
    assert items_of_carts(caller) == [1, 3, 3]


@pytest.mark.parametrize("outage", [Cluster.frozen, down], ids=["frozen", "down"])
def test_a_server_that_is_gone(cluster: Cluster, server: Service, outage: Outage) -> None:
    comes_back(cluster, server, outage)


def test_more_callers_than_threads_of_a_server_that_is_frozen(
    cluster: Cluster, server: Service
) -> None:
    """No request waits for those before it to give up, nor does a health check.

    Those who ask for a page, or whether the service is ready, take no thread from the others.
    """
    calls = [partial(server.caller(sub=f"caller {number}").get) for number in range(24)]
    calls += [partial(requests.get, f"{server.url}/readyz", timeout=60)] * 16
    calls += [partial(requests.get, f"{server.url}/admin/login/", timeout=60)] * 4
    with ThreadPoolExecutor(len(calls)) as pool, requests.Session() as probe:

        def asked() -> list[requests.Response]:
            return [answer.result() for answer in [pool.submit(call) for call in calls]]

        assert all(answer.ok for answer in asked())
        with cluster.frozen(), ThreadPoolExecutor(1) as other:
            kept, checks = other.submit(asked), []
            while not kept.done():
                checks.append(probe.get(f"{server.url}/healthz", timeout=60))
        assert all(map(unavailable, kept.result()[:24]))
        assert {answer.status_code for answer in kept.result()[24:40]} == {503}
        assert all(check.ok for check in checks)
        slowest = [max(one.elapsed for one in some) for some in (kept.result(), checks)]
        print(*slowest, end=" ")
        assert max(slowest).total_seconds() < PATIENCE_SECONDS
        wait_until(lambda: is_ready(server.url))
        assert all(answer.ok for answer in asked())


def test_a_frozen_server_behind_a_pooler(cluster: Cluster, behind_a_pooler: Service) -> None:
    """The pooler finds out for itself, within server_login_retry."""
    comes_back(cluster, behind_a_pooler, Cluster.frozen)


def test_a_restart_between_two_requests_is_not_noticed(cluster: Cluster, server: Service) -> None:
    calls = [partial(timed, server.caller(), "GET") for _ in range(3)]
    answered(calls)  # the threads have connections now
    cluster.stop("fast")
    cluster.start()
    assert all(answer.ok for answer in answered(calls))


def test_no_connection_left() -> None:
    with private_cluster(max_connections=10, superuser_reserved_connections=3) as cluster:
        cluster.execute("CREATE ROLE web LOGIN; GRANT ALL ON SCHEMA public TO web")
        url = cluster.url(user="web")
        with service(url) as running, ExitStack() as taken:
            running.restart()
            for _ in range(7):
                taken.enter_context(closing(psycopg.connect(url)))
            caller = running.caller()
            answer, seconds = timed(caller, "GET")
            assert unavailable(answer)
            assert seconds < PATIENCE_SECONDS
            taken.close()
            wait_until(lambda: caller.get().status_code == 200)


@contextmanager
def without_a_standby(
    cluster: Cluster, end: str, change: Callable[[], Any]
) -> Iterator[Future[Any]]:
    """Let every COMMIT wait for a standby that does not come. Yield the answer of a change.

    `end` is PostgreSQL's function that ends its wait, if any does.
    """
    cluster.configure("SET synchronous_standby_names = 'nobody'")
    wait_until(lambda: cluster.execute("SHOW synchronous_standby_names") == [("nobody",)])
    cluster.execute("CHECKPOINT")  # by the process that lets commits wait from then on
    try:
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(change)
            wait_until(lambda: committing(cluster))
            if end:
                cluster.execute(f"SELECT {end}({committing(cluster)[0]})")
            yield answer
    finally:
        cluster.configure("RESET synchronous_standby_names")
        wait_until(lambda: not committing(cluster))


def committing(cluster: Cluster) -> list[int]:
    """Return the server's processes that wait for the standby."""
    found = cluster.execute("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    return [pid for (pid,) in found]


ENDS = ["", "pg_cancel_backend", "pg_terminate_backend"]


@pytest.mark.parametrize("end", ENDS)
def test_a_commit_whose_standby_is_gone(cluster: Cluster, server: Service, end: str) -> None:
    """It waits until its time is up, or is ended.

    The server has committed then, and says in a warning only that its standby has not.
    """
    caller = server.caller()
    cart = created(caller)
    create = ("POST", "", bodies.cart(items=3))
    sent = partial(answered, [partial(timed, caller, *create, Idempotency_Key="once")])
    with without_a_standby(cluster, end, sent) as answer:
        assert unavailable(*answer.result())
        assert caller.get(f"/{cart}").status_code == 200
        if not end:  # it is open whether the first will have happened
            assert caller.request(*create, Idempotency_Key="once").status_code == 409
    again = caller.request(*create, Idempotency_Key="once")
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert items_of_carts(caller) == [1, 3]


@pytest.mark.parametrize("end", ENDS)
def test_a_commit_within_an_exchange_whose_standby_is_gone(
    cluster: Cluster, server: Service, end: str
) -> None:
    """COMMIT goes with a change's last statements, and its answer is no success either."""
    caller = server.caller()
    cart, [item] = created_with_items(caller, "Pizza")
    update = partial(send, caller, "Update Item", cart, item)
    with without_a_standby(cluster, end, update) as answer:
        assert unavailable(answer.result())
    wait_until(lambda: is_ready(server.url))
    assert update().ok


@contextmanager
def descriptors_left(pid: int, count: int) -> Iterator[None]:
    """Let a process open so many files more, and what it closes in between no more."""
    taken = {int(file.name) for file in Path(f"/proc/{pid}/fd").iterdir()}
    limit = min(set(range(len(taken) + 1)) - taken) + count
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def test_no_descriptor_left(cluster: Cluster) -> None:
    """None for the connection's socket, and then none to wait for it with."""
    with service(cluster.url(), WEB_CONCURRENCY="1") as running, requests.Session() as kept:
        caller = running.caller()
        kept.headers["Authorization"] = f"Bearer {caller.token}"
        assert kept.get(f"{running.url}/healthz", timeout=60).ok  # nothing was logged yet
        (worker,) = running.workers()
        for count in (0, 1):
            with descriptors_left(worker, count):
                assert unavailable(kept.get(caller.base, timeout=60))
                assert readiness(running, kept) == (503, "database unavailable")
        assert kept.get(caller.base, timeout=60).status_code == 200
