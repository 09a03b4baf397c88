"""The server by itself: slow callers, workers that come and go, and what stands beside it.

Logs, metrics and an SQLite file cannot end it.
"""

import os
import resource
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
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
    scrape,
    service,
    with_issuer,
)
from tests.support.carts import created
from tests.support.issuers import running
from tests.support.programs import free_port, missing, wait_until
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


def test_workers_that_are_killed_are_replaced(two_workers: Service) -> None:
    for _ in range(3):
        two_workers.lose_a_worker()
    assert wait_until(two_workers.is_up) < 5
    ends(two_workers)


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
        url = f"{server.url}/readyz"
        answers = [requests.get(url, timeout=60) for _ in range(8)]
        assert {answer.json()["status"] for answer in answers} == {"issuer unreachable"}
        issuer.keys = [public_jwk("RS256", kid="known")]
        wait_until(lambda: is_ready(server.url))
        issuer.raw = b""
        assert {requests.get(url, timeout=60).status_code for _ in range(8)} == {200}  # each worker


def token(kid: str, key: Any = None) -> str:
    return mint("RS256", key=key or private_key("RS256"), headers={"kid": kid}, iss=ISSUER)


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb") as filler:
        filler.write(bytes(33 << 20))


def test_a_stopped_service_is_one_database_file() -> None:
    with service() as server:
        created(server.caller())
        assert Path(f"{server.sqlite}-wal").exists()
        server.stop()
        files = [file.name for file in Path(server.sqlite).parent.glob("*sqlite3*")]
    assert files == ["carts.sqlite3"]


def serves(server: Service, requests: int = 20) -> None:
    caller = server.caller()
    assert [caller.get().status_code for _ in range(requests)] == [200] * requests


def replaces_a_worker(server: Service) -> None:
    server.lose_a_worker()
    assert wait_until(server.is_up) < 5


def ends(server: Service) -> None:
    server.stop()
    assert server.process.returncode == 0


def test_a_log_without_room_loses_lines(small_disk: Path) -> None:
    with service(log=small_disk / "service.log") as server:
        fill(small_disk)
        serves(server, 100)
        replaces_a_worker(server)
        written = server.log.stat().st_size
        (small_disk / "filler").unlink()
        serves(server)
        assert server.log.stat().st_size > written
        ends(server)


@pytest.mark.parametrize("stays", [False, True], ids=["gone", "stalled"])
def test_a_log_whose_reader_does_not_read_loses_lines(tmp_path: Path, stays: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with service(log=pipe) as server:
        if not stays:
            os.close(reader)
        serves(server, 400)  # a pipe holds some two hundred lines
        replaces_a_worker(server)
        ends(server)
    if stays:
        os.close(reader)


FULL = """\
mount -t tmpfs -o size=64k tmpfs /dev/shm || exit
cat /dev/zero > /dev/shm/filler 2>&-
exec "$@"
"""


def test_counts_need_no_room_on_a_disk() -> None:
    if subprocess.run(["unshare", "--mount", "true"]).returncode:
        missing("the right to mount a file system")
    with service(METRICS_BIND=f"127.0.0.1:{free_port()}") as server:
        server.command = ["unshare", "--mount", "sh", "-c", FULL, "sh", *server.command]
        server.restart()
        serves(server)
        replaces_a_worker(server)
        serves(server)
        assert scrape(server)['cartsvc_requests_total{operation="List Carts",status="200"}'] == 40
        ends(server)


def test_who_asks_the_metrics_for_nothing_is_dropped() -> None:
    port = free_port()
    with service(METRICS_BIND=f"127.0.0.1:{port}") as server:
        threads = Path(f"/proc/{server.process.pid}/task")
        before = len(list(threads.iterdir()))
        with ExitStack() as stack:
            silent = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(3)]
            for each in silent:
                stack.enter_context(each)
            assert [each.recv(1) for each in silent] == [b"", b"", b""]
            # A thread ends a moment after it has closed its connection.
            wait_until(lambda: len(list(threads.iterdir())) == before)
        assert scrape(server)
