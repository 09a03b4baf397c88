"""The server by itself: who it serves beside the slow, and what becomes of it and its workers."""

import os
import signal
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
import requests

from tests.bench import client
from tests.chaos.servers import SIGNING_KEY, Service, service
from tests.support.programs import free_port, wait_until
from tests.support.tokens import mint


@pytest.fixture
def two_workers() -> Iterator[Service]:
    with service(WEB_CONCURRENCY="2", THREADS="2") as server:
        yield server


def answers(server: Service) -> bool:
    with suppress(requests.RequestException):
        return requests.get(f"{server.url}/healthz", timeout=2).ok
    return False


def test_callers_who_say_nothing_take_no_thread(two_workers: Service) -> None:
    with ExitStack() as stack:
        for number in range(40):
            silent = socket.create_connection(("127.0.0.1", two_workers.port))
            stack.enter_context(silent).sendall(b"GET /healthz HT"[: number % 15])
        for _ in range(20):
            # Answered while they still say nothing; else nobody would be.
            assert requests.get(f"{two_workers.url}/healthz", timeout=5).status_code == 200


def test_who_does_not_finish_a_head_is_dropped(two_workers: Service) -> None:
    with socket.create_connection(("127.0.0.1", two_workers.port), timeout=30) as silent:
        silent.sendall(b"GET /healthz HTTP/1.1\r\nHost: localh")
        started = time.monotonic()
        with suppress(ConnectionResetError):
            assert b"200" not in silent.recv(1000)
    assert 8 < time.monotonic() - started < 15


def test_connections_that_are_kept_take_no_thread(two_workers: Service) -> None:
    address = two_workers.url.removeprefix("http://")
    with ExitStack() as stack:
        kept = [
            stack.enter_context(closing(HTTPConnection(address, timeout=60))) for _ in range(20)
        ]
        for connection in kept * 3:
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            assert answer.status == 200
            answer.read()


def test_callers_who_never_rest_do_not_keep_out_others() -> None:
    """Every thread always has the next request of those whose connections it keeps."""
    path = f"/v2.0/customers/{uuid.uuid4()}/carts"
    request = client.request("GET", path, f"Bearer {mint(key=SIGNING_KEY)}")
    with service(WEB_CONCURRENCY="1", THREADS="2") as server:
        sample = client.run(
            server.port, [request], concurrency=32, more=lambda done, _: len(done.latencies) < 3000
        )
    assert max(sample.overtaken) < 1000


def test_a_worker_that_is_killed_again_and_again_is_replaced(two_workers: Service) -> None:
    """Granian gives up on a worker that dies twice within seconds; the service does not."""
    other = two_workers.workers()[1]
    for _ in range(3):
        dead = ({*two_workers.workers()} - {other}).pop()
        os.kill(dead, signal.SIGKILL)
        wait_until(lambda dead=dead: dead not in two_workers.workers())
        wait_until(lambda: len(two_workers.workers()) == 2)
    assert wait_until(lambda: answers(two_workers)) < 5
    two_workers.stop()
    assert two_workers.process.returncode == 0


def test_workers_do_not_outlive_a_parent_that_is_killed(two_workers: Service) -> None:
    workers = two_workers.workers()
    assert len(workers) == 2
    two_workers.process.kill()
    two_workers.process.wait()

    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers), 10)

    two_workers.start()
    assert answers(two_workers)


@contextmanager
def callers(server: Service) -> Iterator[Counter[int | str]]:
    """Ask without a rest, each time on a connection of one's own; count what comes back."""
    counted: Counter[int | str] = Counter()
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                counted[requests.get(f"{server.url}/healthz", timeout=10).status_code] += 1
            except requests.RequestException as error:
                counted[type(error).__name__] += 1

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    yield counted
    over.set()
    for thread in threads:
        thread.join()


def test_sighup_exchanges_the_workers_one_after_the_other(two_workers: Service) -> None:
    before = two_workers.workers()
    with callers(two_workers) as counted:
        two_workers.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not set(before) & set(two_workers.workers()))
        wait_until(lambda: counted[200] > 500)
    assert len(two_workers.workers()) == 2
    print(f"\n{dict(counted)}")
    # What waits in the queue of a worker's own socket is lost with it.
    assert counted.total() - counted[200] <= counted.total() / 100


def test_counts_are_kept_in_a_folder_of_the_services_own(tmp_path: Path) -> None:
    theirs = tmp_path / "counter_1.db"
    theirs.write_bytes(b"theirs")
    named = {"METRICS_BIND": f"127.0.0.1:{free_port()}", "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    with service(**named) as server:
        server.caller().get()
        (ours,) = [path for path in tmp_path.iterdir() if path != theirs]
        assert ours.is_dir()
        assert list(ours.glob("counter_*.db"))
        server.stop()
    assert list(tmp_path.iterdir()) == [theirs]
    assert theirs.read_bytes() == b"theirs"
