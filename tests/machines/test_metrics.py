"""The metrics: right across workers, and what cannot end them."""

import os
import re
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

from cartsvc import __version__
from tests.machines.servers import (
    ends,
    replaces_a_worker,
    scrape,
    serves,
    service,
)
from tests.support import bodies
from tests.support.programs import free_port, missing, wait_until

LISTED = 'cartsvc_requests_total{operation="List Carts",status="200"}'


def test_metrics_are_right_across_workers_and_outlive_them() -> None:
    with service(METRICS_BIND=f"127.0.0.1:{free_port()}") as server:
        callers = [server.caller() for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: callers[n % 8].post(body=bodies.cart()), range(64)))
        for _ in range(2):
            callers[0].post(body=bodies.cart(), Idempotency_Key="once")
        callers[0].post(body=bodies.bare_cart(), Idempotency_Key="once")
        callers[0].post(body={})
        expected = {
            f'cartsvc_info{{instance_name="{server.name}",version="{__version__}"}}': 1,
            'cartsvc_requests_total{operation="Create Cart",status="200"}': 66,
            'cartsvc_requests_total{operation="Create Cart",status="400"}': 1,
            'cartsvc_requests_total{operation="Create Cart",status="422"}': 1,
            'cartsvc_request_seconds_count{operation="Create Cart"}': 68,
            'cartsvc_request_seconds_bucket{le="+Inf",operation="Create Cart"}': 68,
            "cartsvc_replays_total": 1,
            "cartsvc_database_errors_total": 0,
            "cartsvc_workers_replaced_total": 0,
        }

        def counted() -> dict[str, float]:
            return {name: n for name, n in scrape(server).items() if name in expected}

        wait_until(lambda: counted() == expected)
        buckets = [n for name, n in scrape(server).items() if "_seconds_bucket" in name]
        assert len(buckets) == 12
        assert buckets == sorted(buckets)

        server.lose_a_worker()
        wait_until(server.is_up)
        callers[0].get()
        expected[LISTED] = 1
        expected["cartsvc_workers_replaced_total"] = 1
        wait_until(lambda: counted() == expected)


def test_a_request_is_no_matter_of_the_parent() -> None:
    with service(METRICS_BIND=f"127.0.0.1:{free_port()}") as server:

        def read() -> int:
            counts = Path(f"/proc/{server.process.pid}/io").read_text()
            return int(re.findall(r"rchar: (\d+)", counts)[0])

        before, began = read(), monotonic()
        serves(server, 400)
        wait_until(lambda: scrape(server).get(LISTED) == 400)
        # In bytes a second; a line for each request made 38,000 at once.
        assert read() - before < 4000 * (monotonic() - began + 1)


def test_a_worker_that_ends_in_order_loses_no_count() -> None:
    with service(METRICS_BIND=f"127.0.0.1:{free_port()}") as server:
        serves(server, 20)
        for worker in server.workers():
            os.kill(worker, signal.SIGTERM)
        wait_until(lambda: scrape(server).get(LISTED) == 20)


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
        for count in (20, 40):
            serves(server, 20)
            wait_until(lambda count=count: scrape(server).get(LISTED) == count)
            replaces_a_worker(server)
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
