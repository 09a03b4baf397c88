"""Failovers under load: the callers' histories have no contradiction.

Etcd, three nodes of Patroni with one synchronous standby, HAProxy, two instances and six callers.
Each kind of fault happens once. The long form repeats them until so many failovers have
happened, bounds the slowest answer, and shows what asynchronous standbys would lose:

    FAILOVERS=13 pytest tests/chaos/test_failover.py -s
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from psycopg import Connection

from tests.chaos.ledger import Ledger
from tests.chaos.nodes import Node, Nodes, three_nodes
from tests.chaos.proxies import haproxy
from tests.chaos.servers import service
from tests.support.programs import free_port, wait_until

FAILOVERS = int(os.environ.get("FAILOVERS", "0"))
# Seconds to an answer, whatever happens to the database: a request has five. On a machine of which
# nobody knows how busy it is, it is enough that there is an end.
SLOWEST = 6 if FAILOVERS else 60

Mend = Callable[[], None]


def nothing() -> None:
    """Mend nothing: the node came back by itself."""


def switch_over(nodes: Nodes) -> Mend:
    primary = nodes.wait_for_primary()
    # It refuses as long as the standby has not caught up.
    wait_until(lambda: primary.post("switchover", {"leader": primary.name}).ok, 60)
    nodes.wait_for_primary(primary)
    return nothing


def kill_postgresql(nodes: Nodes) -> Mend:
    primary = nodes.wait_for_primary()
    os.kill(primary.postgres()[0], signal.SIGKILL)
    nodes.wait_for_primary(primary)
    return nothing


def lose_the_primary(nodes: Nodes) -> Mend:
    primary = nodes.wait_for_primary()
    primary.lose()
    nodes.wait_for_primary(primary)
    return primary.start


def freeze_the_primary(nodes: Nodes) -> Mend:
    primary = nodes.wait_for_primary()
    primary.freeze()
    nodes.wait_for_primary(primary)
    return primary.thaw


def cancel_commits(nodes: Nodes) -> Mend:
    """Cancel commits that wait for their standby, and lose the only node that has them."""
    primary = nodes.wait_for_primary()
    with primary.connect() as connection:

        def one_waits() -> bool:
            stop_replication(connection)  # again, because standbys that hear nothing come back
            return bool(connection.execute(f"SELECT pid {COMMITS}").fetchone())

        for _ in range(3):
            wait_until(one_waits)
            connection.execute(f"SELECT pg_cancel_backend(pid) {COMMITS}")
    primary.lose()
    nodes.wait_for_primary(primary)
    return primary.start


COMMITS = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def stop_replication(primary: Connection[Any]) -> None:
    """Freeze what sends the log to the standbys, so that its last part is on the primary alone."""
    for (sender,) in primary.execute("SELECT pid FROM pg_stat_replication"):
        os.kill(sender, signal.SIGSTOP)


def restart_the_primary(nodes: Nodes) -> Mend:
    assert nodes.wait_for_primary().post("restart", {}).ok
    return nothing


def freeze_the_standby(nodes: Nodes) -> Mend:
    standby = nodes.synchronous()
    standby.freeze()
    return standby.thaw


Fault = Callable[[Nodes], Mend]
REPLACING: dict[str, Fault] = {
    "switched over": switch_over,
    "PostgreSQL killed": kill_postgresql,
    "primary lost": lose_the_primary,
    "primary frozen": freeze_the_primary,
    "commits cancelled, primary lost": cancel_commits,
}
STAYING: dict[str, Fault] = {
    "primary restarted": restart_the_primary,
    "standby frozen": freeze_the_standby,
}


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with three_nodes() as started:
        yield started


@pytest.fixture(scope="module")
def behind_haproxy(nodes: Nodes) -> Iterator[str]:
    """The address of two instances behind HAProxy, which reach the primary through it, too."""
    port = free_port()
    ports = {"postgresql": nodes.postgresql_port, "patroni": nodes.patroni_port}
    with haproxy(cartsvc=port, **ports) as balanced:
        url = nodes.url(balanced.primary)
        # Until it has asked them for the first time, HAProxy takes every node for the primary.
        wait_until(lambda: all(accepts(url) for _ in range(2 * len(nodes.all))))
        with (
            service(url, BIND=f"127.0.0.2:{port}"),
            service(url, BIND=f"127.0.0.3:{port}"),
        ):
            wait_until(lambda: requests.get(f"{balanced.url}/readyz", timeout=60).ok)
            yield balanced.url


def accepts(url: str) -> bool:
    with suppress(psycopg.OperationalError):
        psycopg.connect(url).close()
        return True
    return False


def strike(nodes: Nodes, ledger: Ledger, cause: str, fault: Fault) -> None:
    """Let the fault happen, wait until writes pass again, and tell how long none did."""
    nodes.wait_until_whole()
    ledger.wait_for_progress()
    began = time.monotonic()
    ledger.dirty_reads = fault is cancel_commits
    mend = fault(nodes)
    ledger.dirty_reads = False
    try:
        try:
            ledger.wait_for_progress()
        except AssertionError:
            # Nothing is acknowledged as long as no standby follows the new primary.
            nodes.make_anew()
            ledger.wait_for_progress()
    except AssertionError as error:
        raise AssertionError(nodes.told()) from error
    finally:
        mend()
    print(f"{cause}: {ledger.longest_pause(began):.1f} s without a write")


def audited(nodes: Nodes, ledger: Ledger) -> list[str]:
    with nodes.wait_until_whole().connect("carts") as fresh:
        found = ledger.audit(fresh)
    print(f"{ledger}: {len(found)} contradictions")
    return found


def test_nothing_acknowledged_is_lost(nodes: Nodes, behind_haproxy: str, tmp_path: Path) -> None:
    nodes.wait_until_whole()
    ledger = Ledger(behind_haproxy, tmp_path)
    faults = [*STAYING.items(), *islice(cycle(REPLACING.items()), FAILOVERS or len(REPLACING))]
    print()
    ledger.run(6, [partial(strike, nodes, ledger, cause, fault) for cause, fault in faults])
    assert audited(nodes, ledger) == []
    assert ledger.slowest < SLOWEST


def test_a_frozen_primary_without_haproxy(nodes: Nodes, tmp_path: Path) -> None:
    """The callers repeat a 404 as well, and what they read may be out of date.

    A primary that thaws takes itself for the primary until Patroni demotes it. HAProxy sends
    nobody there. Without it, callers may reach it. It acknowledges no change, but it does not
    know the carts that are younger.
    """
    with service(nodes.url()) as server:
        nodes.wait_until_whole()
        ledger = Ledger(server.url, tmp_path, stale=True)
        print()
        ledger.run(6, [partial(strike, nodes, ledger, "frozen, hosts listed", freeze_the_primary)])
    assert audited(nodes, ledger) == []
    assert ledger.slowest < SLOWEST


@pytest.mark.skipif(not FAILOVERS, reason="the control belongs to the long form")
def test_asynchronous_standbys_lose_what_was_acknowledged(
    nodes: Nodes, behind_haproxy: str, tmp_path: Path
) -> None:
    """The control: were nothing found here, nothing would be proved by the other tests."""
    nodes.wait_until_whole()
    ledger = Ledger(behind_haproxy, tmp_path)
    configure(nodes, synchronous=False, receiver_timeout="1h")
    primary = nodes.wait_until_whole(standbys="replica replica")

    def write_what_is_not_sent() -> None:
        with primary.connect() as connection:
            stop_replication(connection)
        ledger.wait_for_progress()

    ledger.run(6, [write_what_is_not_sent])
    primary.lose()
    nodes.wait_for_primary(primary)
    primary.start()
    configure(nodes, synchronous=True, receiver_timeout="5s")
    assert "was over before" in "".join(audited(nodes, ledger))


def configure(nodes: Nodes, *, synchronous: bool, receiver_timeout: str) -> None:
    """Change what all nodes are to do, and wait until those that are up do it.

    A standby whose sender is frozen would come back to another one after its timeout.
    """
    parameters = {"wal_receiver_timeout": receiver_timeout}
    change = {"synchronous_mode": synchronous, "postgresql": {"parameters": parameters}}
    primary = nodes.wait_for_primary()
    requests.patch(f"{primary.api}/config", json=change, timeout=60).raise_for_status()
    for node in nodes.all:
        wait_until(lambda node=node: shown(node) == receiver_timeout)


def shown(node: Node) -> str:
    with suppress(psycopg.OperationalError), node.connect() as connection:
        return str(connection.execute("SHOW wal_receiver_timeout").fetchone()[0])
    return ""
