"""A new connection goes to a worker that has a thread for it."""

import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from select import select

import pytest
import requests

from tests.bench import client
from tests.chaos.servers import SIGNING_KEY, Service, service
from tests.support.tokens import mint


@pytest.fixture
def two_workers() -> Iterator[Service]:
    with service(WEB_CONCURRENCY="2", THREADS="2") as server:
        yield server


def test_callers_who_say_nothing_do_not_hold_up_another_workers(two_workers: Service) -> None:
    """As many as a worker has threads, in one of them or in both: one thread is free."""
    for _ in range(5):
        with ExitStack() as stack:
            silent = [
                stack.enter_context(socket.create_connection(("127.0.0.1", two_workers.port)))
                for _ in range(3)
            ]
            for _ in range(10):
                answer = requests.get(f"{two_workers.url}/healthz", timeout=60)
                assert answer.status_code == 200
            # Answered while they still said nothing, and not because they were thrown out.
            assert select(silent, [], [], 0)[0] == []


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
