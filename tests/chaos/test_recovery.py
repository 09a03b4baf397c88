"""How soon the service answers 503 when its database is gone, and 200 when it is back."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing

import psycopg
import pytest
import requests

from tests.chaos.servers import Service, held_row, service, timed
from tests.support import bodies
from tests.support.carts import created
from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import wait_until


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Iterator[Service]:
    # A single thread serves every request, so that each one gets the kept connection.
    with service(cluster.url(), WEB_CONCURRENCY="1", THREADS="1") as running:
        yield running


def unavailable(answer: requests.Response) -> bool:
    code = answer.json()["notifications"][0]["code"]
    return (answer.status_code, code) == (503, "unavailable") and "Retry-After" in answer.headers


def test_a_row_that_is_held(cluster: Cluster, on_postgres: Service) -> None:
    caller = on_postgres.caller()
    cart = created(caller)
    with held_row(cluster, cart):
        answer, seconds = timed(caller, "POST", f"/{cart}/items", bodies.item())
        assert unavailable(answer)
        assert seconds < 3
    assert caller.post(f"/{cart}/items", bodies.item()).status_code == 200


def test_a_database_that_is_down_and_back(cluster: Cluster, server: Service) -> None:
    caller = server.caller()
    cart = created(caller)
    cluster.stop("fast")
    cluster.start()
    # A restart between two requests is not noticed.
    assert caller.get(f"/{cart}").status_code == 200
    cluster.stop("immediate")
    try:
        for _ in range(2):
            answer, seconds = timed(caller, "GET", f"/{cart}")
            assert unavailable(answer)
            assert seconds < 4
    finally:
        cluster.start()
    assert caller.get(f"/{cart}").status_code == 200


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
            assert seconds < 4
            taken.close()
            wait_until(lambda: caller.get().status_code == 200)


def test_a_sqlite_file_that_another_process_writes() -> None:
    with service() as running:
        caller = running.caller()
        cart = created(caller)
        other = sqlite3.connect(running.sqlite, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answer, seconds = timed(caller, "POST", f"/{cart}/items", bodies.item())
        assert unavailable(answer)
        assert seconds < 3
        assert caller.get(f"/{cart}").status_code == 200
        other.rollback()
        other.close()
        assert caller.post(f"/{cart}/items", bodies.item()).status_code == 200
