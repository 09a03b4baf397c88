"""The server by itself: slow callers, workers that come and go, keys, drain and stop."""

import os
import resource
import signal
import socket
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.bench import load_generator
from tests.machines.servers import (
    ISSUER,
    SIGNING_KEY,
    Service,
    is_ready,
    readiness,
    service,
    with_issuer,
)
from tests.support import bodies
from tests.support.carts import created
from tests.support.clusters import Cluster
from tests.support.issuers import running
from tests.support.programs import wait_until
from tests.support.tokens import mint, private_key, public_jwk


@pytest.fixture
def two_workers() -> Iterator[Service]:
    with service(WEB_CONCURRENCY="2", THREADS="2") as server:
        wait_until(lambda: len(server.workers()) == 2)
        yield server


def test_who_does_not_finish_a_head_is_dropped(two_workers: Service) -> None:
    with socket.create_connection(("127.0.0.1", two_workers.port), timeout=30) as silent:
        silent.sendall(b"GET /healthz HTTP/1.1\r\nHost: localh")
        started = time.monotonic()
        with suppress(ConnectionResetError):
            assert b"200" not in silent.recv(1000)
    assert 8 < time.monotonic() - started < 15


def test_callers_who_never_rest_do_not_keep_out_others() -> None:
    """Their kept connections always have a next request ready for every thread."""
    path = f"/v2.0/customers/{uuid.uuid4()}/carts"
    request = load_generator.request("GET", path, f"Bearer {mint(key=SIGNING_KEY)}")
    with service(WEB_CONCURRENCY="1", THREADS="2") as server:
        sample = load_generator.run(
            server.port,
            repeat(request),
            concurrency=32,
            more=lambda done, _: len(done.latencies) < 3000,
        )
    assert max(sample.overtaken) < 1000


def test_a_service_whose_workers_die_at_once_ends_with_an_error_and_says_why() -> None:
    with service() as server:

        def has_ended() -> bool:
            with suppress(OSError):  # one has just died, or all have
                for youngest in server.workers()[-1:]:
                    os.kill(youngest, signal.SIGKILL)
            return server.process.poll() is not None

        wait_until(has_ended, 60)
        assert server.process.returncode == 1
        assert "Unexpected exit from worker-" in server.log.read_text()
        assert "Worker crash loop detected" in server.log.read_text()


def test_workers_do_not_outlive_a_parent_that_is_killed(two_workers: Service) -> None:
    workers = two_workers.workers()
    two_workers.process.kill()
    two_workers.process.wait()

    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers), 10)

    two_workers.start()


def test_a_service_that_cannot_replace_a_worker_ends_with_an_error(two_workers: Service) -> None:
    """Here it has no descriptor left to fork with."""
    workers = two_workers.workers()
    resource.prlimit(two_workers.process.pid, resource.RLIMIT_NOFILE, (5, 5))
    os.kill(workers[0], signal.SIGKILL)
    assert two_workers.process.wait(60) == 1
    assert not Path(f"/proc/{workers[1]}").exists()


def test_a_worker_begins_with_the_keys_of_now() -> None:
    with (
        running(public_jwk("RS256", 1, kid="withdrawn")) as issuer,
        with_issuer(issuer.url, WEB_CONCURRENCY="1") as server,
    ):
        issuer.keys = [public_jwk("RS256", kid="known")]
        server.restart()
        assert issuer.asked == 2
        issuer.pause = 1  # nobody can be waiting for it
        callers = [server.caller() for _ in range(16)]
        for number, caller in enumerate(callers):
            withdrawn = private_key("RS256", 1)
            caller.token = token("known") if number else token("withdrawn", withdrawn)
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda caller: caller.get(), callers))
        assert [answer.status_code for answer in answers] == [401] + [200] * 15
        assert issuer.asked == 2


def test_a_worker_that_replaces_another_begins_with_the_others_keys() -> None:
    with running(public_jwk("RS256", kid="known")) as issuer, with_issuer(issuer.url) as server:
        assert is_ready(server.url)
        asked, issuer.raw = issuer.asked, b""
        for _ in server.workers():
            server.lose_a_worker()
        caller = server.caller()
        caller.token = token("known")
        assert {caller.get().status_code for _ in range(16)} == {200}
        assert issuer.asked == asked


def test_an_instance_without_keys_is_not_ready_and_says_so() -> None:
    with running() as issuer, with_issuer(issuer.url) as server:
        assert {readiness(server) for _ in range(8)} == {(503, "issuer unreachable")}  # each worker
        issuer.keys = [public_jwk("RS256", kid="known")]
        wait_until(lambda: is_ready(server.url))
        issuer.raw = b""
        assert {readiness(server) for _ in range(8)} == {(200, "ok")}


def token(kid: str, key: Any = None) -> str:
    return mint("RS256", key=key or private_key("RS256"), headers={"kid": kid}, iss=ISSUER)


def test_a_stopped_service_is_one_database_file() -> None:
    with service() as server:
        created(server.caller())
        assert Path(f"{server.sqlite}-wal").exists()
        server.stop()
        files = [file.name for file in Path(server.sqlite).parent.glob("*sqlite3*")]
    assert files == ["carts.sqlite3"]


WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def test_a_stop_finishes_what_runs(cluster: Cluster) -> None:
    long_timeouts = "tests.support.long_timeouts"
    with service(cluster.url(), DJANGO_SETTINGS_MODULE=long_timeouts) as server:
        caller = server.caller()
        cart = created(caller)
        with ThreadPoolExecutor() as pool:
            with cluster.connect() as other, other.transaction():
                other.execute("SELECT 1 FROM carts_cart WHERE id = %s FOR UPDATE", [cart])
                adding = pool.submit(caller.post, f"/{cart}/items", bodies.item())
                wait_until(lambda: cluster.execute(WAITING))
                stopping = pool.submit(server.stop)
                time.sleep(1)
                assert not adding.done()
            assert adding.result().status_code == 200
            stopping.result(20)
        assert server.process.returncode == 0
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{server.url}/healthz", timeout=2)


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_a_drain_serves_on_until_it_is_told_again(told: int) -> None:
    with (
        service(DJANGO_SETTINGS_MODULE="tests.machines.long_drain") as server,
        requests.Session() as kept,
    ):
        server.process.send_signal(told)
        wait_until(lambda: not is_ready(server.url))
        # Each is a connection of its own, to either worker.
        assert {readiness(server) for _ in range(20)} == {(503, "draining")}
        answer = kept.get(f"{server.url}/healthz", timeout=60)
        assert (answer.status_code, answer.headers["Connection"]) == (200, "close")
        assert server.caller().post(body=bodies.cart()).status_code == 200
        assert len(server.workers()) == 2
        server.stop()
        assert server.process.returncode == 0
