"""How soon the service answers 503 when its database is gone, and 200 when it is back."""

import socket
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import psycopg
import pytest
import requests

from tests.chaos.servers import PATIENT, Service, service, timed
from tests.support import bodies
from tests.support.callers import HttpApi
from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import free_port, wait_until


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


def test_a_row_that_is_held_is_waited_for_by_nobody_else(cluster: Cluster) -> None:
    with service(cluster.url(), DJANGO_SETTINGS_MODULE=PATIENT) as running:
        caller, other = running.caller(), running.caller()
        cart = new_cart(caller)
        with ThreadPoolExecutor() as pool:
            with cluster.connect() as holder, holder.transaction():
                holder.execute("SELECT 1 FROM carts_cart WHERE id = %s FOR UPDATE", [cart])
                waiting = pool.submit(caller.post, f"/{cart}/items", bodies.item())
                wait_until(lambda: cluster.execute(WAITING) == [(1,)])
                assert other.post("", bodies.cart()).status_code == 200
                assert caller.get(f"/{cart}").json()["data"]["version"] == 1
                assert not waiting.done()
            assert waiting.result().status_code == 200


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


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


def test_a_database_that_hangs(cluster: Cluster) -> None:
    """The host accepts connections but never answers, as behind a firewall."""
    with socket.create_server(("127.0.0.1", 0)) as silent, service(cluster.url()) as running:
        port = silent.getsockname()[1]
        running.restart(DATABASE_URL=f"postgres://postgres@127.0.0.1:{port}/postgres")
        answer, seconds = timed(running.caller(), "GET", "")
        assert unavailable(answer)
        assert seconds < 4


def test_a_primary_that_is_demoted_and_promoted_again() -> None:
    with private_cluster() as own, service(own.url()) as running:
        caller = running.caller()
        cart = new_cart(caller)
        own.stop("fast")
        (own.data / "standby.signal").touch()
        own.start()
        assert caller.get(f"/{cart}").status_code == 200
        for request in (
            ("POST", "", bodies.cart()),
            ("POST", f"/{cart}/items", bodies.item()),
        ):
            assert unavailable(caller.request(*request))
        ready = requests.get(f"{running.url}/readyz", timeout=60)
        assert (ready.status_code, ready.json()) == (503, {"status": "database read-only"})
        assert own.execute("SELECT pg_promote()") == [(True,)]
        assert caller.post(f"/{cart}/items", bodies.item()).status_code == 200
        assert requests.get(f"{running.url}/readyz", timeout=60).ok


def test_of_several_hosts_the_one_that_writes(cluster: Cluster) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        private_cluster(default_transaction_read_only="on") as reader,
    ):
        ports = [free_port(), silent.getsockname()[1], reader.port, cluster.port]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        url = f"postgres://postgres@{hosts}/postgres?target_session_attrs=read-write"
        with service(url) as running:
            caller = running.caller()
            cart = new_cart(caller)
            assert caller.get(f"/{cart}").status_code == 200
    assert cluster.execute(f"SELECT count(*) FROM carts_cart WHERE id = '{cart}'") == [(1,)]


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


def test_a_command_may_take_longer_than_a_request(on_postgres: Service) -> None:
    sleep = "from django.db import connection as c; c.cursor().execute('SELECT pg_sleep(4.5)')"
    on_postgres.manage("shell", "--no-imports", "-c", sleep)


def test_many_at_once_wait_for_nothing(on_postgres: Service) -> None:
    callers = [on_postgres.caller() for _ in range(24)]
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda c: c.post("", bodies.cart()), callers))
    assert {answer.status_code for answer in answers} == {200}
