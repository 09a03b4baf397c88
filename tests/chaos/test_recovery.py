"""How soon the service answers 503 when its database is gone, and 200 when it is back."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing

import psycopg
import pytest
import requests

from tests.chaos.servers import Service, service, timed
from tests.support import bodies
from tests.support.callers import HttpApi
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


def new_cart(caller: HttpApi) -> str:
    answer = caller.post("", bodies.cart())
    assert answer.status_code == 200
    return answer.json()["data"]["cartId"]


def test_a_row_that_is_held(cluster: Cluster, on_postgres: Service) -> None:
    caller = on_postgres.caller()
    cart = new_cart(caller)
    with cluster.connect() as holder, holder.transaction():
        holder.execute("SELECT 1 FROM carts_cart WHERE id = %s FOR UPDATE", [cart])
        answer, seconds = timed(caller, "POST", f"/{cart}/items", bodies.item())
        assert unavailable(answer)
        assert seconds < 3
    assert caller.post(f"/{cart}/items", bodies.item()).status_code == 200


def test_a_database_that_is_down(cluster: Cluster, server: Service) -> None:
    caller = server.caller()
    cart = new_cart(caller)
    cluster.stop("immediate")
    try:
        for _ in range(2):
            answer, seconds = timed(caller, "GET", f"/{cart}")
            assert unavailable(answer)
            assert seconds < 4
    finally:
        cluster.start()
    assert caller.get(f"/{cart}").status_code == 200


def test_a_restart_between_two_requests_is_not_noticed(cluster: Cluster, server: Service) -> None:
    caller = server.caller()
    cart = new_cart(caller)
    cluster.stop("fast")
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
        cart = new_cart(caller)
        other = sqlite3.connect(running.sqlite, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answer, seconds = timed(caller, "POST", f"/{cart}/items", bodies.item())
        assert unavailable(answer)
        assert seconds < 3
        assert caller.get(f"/{cart}").status_code == 200
        other.rollback()
        other.close()
        assert caller.post(f"/{cart}/items", bodies.item()).status_code == 200
