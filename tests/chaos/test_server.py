"""The server without nginx: slow callers beside others, and how it and its workers end."""

import signal
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import requests

from tests.bench import client
from tests.chaos.servers import SIGNING_KEY, Service, service
from tests.chaos.test_wire import head, kept
from tests.chaos.traffic import traffic
from tests.support import bodies
from tests.support.carts import created
from tests.support.programs import wait_until
from tests.support.tokens import mint


@pytest.fixture
def two_workers() -> Iterator[Service]:
    with service(WEB_CONCURRENCY="2", THREADS="2") as server:
        yield server


def test_who_does_not_finish_a_head_is_dropped(two_workers: Service) -> None:
    with socket.create_connection(("127.0.0.1", two_workers.port), timeout=30) as silent:
        silent.sendall(b"GET /healthz HTTP/1.1\r\nHost: localh")
        started = time.monotonic()
        with suppress(ConnectionResetError):
            assert b"200" not in silent.recv(1000)
    assert 8 < time.monotonic() - started < 15


def test_slow_readers_take_no_thread(two_workers: Service) -> None:
    """Each leaves answers of 15 MB in all unread: more than what the kernel takes for it."""
    owner = two_workers.caller()
    items = [bodies.item(options=[bodies.option(displayName="x" * 100)] * 90)] * 10
    large = created(owner, bodies.cart(items=items))
    asked = kept(head("GET", path=f"{owner.base.removeprefix(two_workers.url)}/{large}"))
    with ExitStack() as stack:
        readers = 0
        while readers < 16:
            reader = stack.enter_context(socket.socket())
            reader.settimeout(60)
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            reader.connect(("127.0.0.1", two_workers.port))
            reader.sendall(asked * 80)
            # Too many large reads at once are refused.
            readers += reader.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 200"
        for _ in range(20):
            assert owner.get().status_code == 200


@pytest.mark.parametrize("place", ["api", "desk"])
def test_bodies_that_do_not_arrive_leave_a_thread_to_others(
    two_workers: Service, place: str
) -> None:
    api = two_workers.caller()
    half = head("POST", "Content-Length: 999", f"Cookie: csrftoken={'a' * 32}") + b'{"a":'
    if place == "desk":
        half = half.replace(b" /v2.0/", b" /admin/login/?").replace(
            b"json", b"x-www-form-urlencoded"
        )
    with ExitStack() as stack:
        stalled = []
        for _ in range(8):
            stalled.append(socket.create_connection(("127.0.0.1", two_workers.port), timeout=5))
            stack.enter_context(stalled[-1]).sendall(half)
        started = time.monotonic()
        for _ in range(20):
            assert requests.get(f"{two_workers.url}/healthz", timeout=5).status_code == 200
        assert time.monotonic() - started < 5
        # Two threads in each of two workers: one waits for a body, and one is free.
        refused: list[bytes] = []

        def six_are_refused() -> bool:
            refused.extend(filter(None, map(received, stalled)))
            return len(refused) >= 6

        wait_until(six_are_refused)
        for answer in refused:
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"\r\nretry-after: 1\r\n" in answer.lower()
    wait_until(lambda: api.post("", bodies.cart()).status_code == 200, 5)


def received(connection: socket.socket) -> bytes:
    """Return what was answered since the last call."""
    connection.setblocking(False)
    with suppress(OSError):
        return connection.recv(65536)
    return b""


def test_callers_who_never_rest_do_not_keep_out_others() -> None:
    """Their kept connections always have a next request ready for every thread."""
    path = f"/v2.0/customers/{uuid.uuid4()}/carts"
    request = client.request("GET", path, f"Bearer {mint(key=SIGNING_KEY)}")
    with service(WEB_CONCURRENCY="1", THREADS="2") as server:
        sample = client.run(
            server.port, [request], concurrency=32, more=lambda done, _: len(done.latencies) < 3000
        )
    assert max(sample.overtaken) < 1000


def test_a_worker_that_is_killed_again_and_again_is_replaced(two_workers: Service) -> None:
    """Granian gives up when a worker dies twice within seconds. The service does not."""
    for _ in range(3):
        two_workers.lose_a_worker()
    assert wait_until(two_workers.is_up) < 5
    two_workers.stop()
    assert two_workers.process.returncode == 0


def test_workers_do_not_outlive_a_parent_that_is_killed(two_workers: Service) -> None:
    workers = two_workers.workers()
    assert len(workers) == 2
    two_workers.process.kill()
    two_workers.process.wait()

    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers), 10)

    two_workers.start()


def test_sighup_exchanges_the_workers_one_after_the_other(two_workers: Service) -> None:
    before = two_workers.workers()
    with traffic([two_workers.caller(kept=False) for _ in range(4)]) as seen:
        two_workers.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not set(before) & set(two_workers.workers()))
        wait_until(lambda: seen.answers[200] > 500, 90)
    assert len(two_workers.workers()) == 2
    print(f"\n{seen}")
    # Connections that wait in the queue of a worker's own socket are lost with the worker.
    assert seen.answers.total() - seen.answers[200] <= seen.answers.total() / 100
