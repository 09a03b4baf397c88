"""Carts spread by customer over the servers of a Citus cluster: one coordinator, two workers."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carts.management.commands.demo_carts import DEMO_CARTS
from tests.machines.campaign.recorded_callers import RecordedCallers
from tests.machines.servers import Service, service, session_limits
from tests.support.callers import HttpApi
from tests.support.carts import created, created_with_items, shown
from tests.support.citus import citus, has_citus
from tests.support.clusters import Cluster
from tests.support.operations import OF_A_CUSTOMER, READS, send
from tests.support.programs import children, signal_all, wait_until

pytestmark = pytest.mark.skipif(not has_citus(), reason="PostgreSQL has no Citus here")

SPREAD = "SELECT count(*), count(DISTINCT colocationid) FROM pg_dist_partition"


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Cluster]]:
    logged = {"citus.log_remote_commands": "on", "log_min_messages": "notice"}
    with citus("carts", **logged) as found:
        found[0].execute(
            "CREATE ROLE cartsvc LOGIN; ALTER DATABASE carts OWNER TO cartsvc", "carts"
        )
        yield found


@pytest.fixture(scope="module")
def server(nodes: list[Cluster]) -> Iterator[Service]:
    """The service on the coordinator, whose carts were there before they were distributed."""
    with service(nodes[0].url("carts", user="cartsvc")) as running:
        running.manage("demo_carts")
        running.stop()
        for _ in range(2):  # a second run changes nothing
            assert running.manage("distribute") == "The carts are distributed.\n"
        assert asked(nodes, "SELECT count(*) FROM carts_cart") == [(DEMO_CARTS,)]
        # So many tables are spread, all in the same way.
        assert asked(nodes, f"{SPREAD} WHERE partmethod = 'h'") == [(7, 1)]
        running.start()
        yield running


@pytest.fixture
def recorded(nodes: list[Cluster], server: Service, tmp_path: Path) -> Iterator[RecordedCallers]:
    """Callers whose histories are judged at the end, of no other carts than theirs."""
    asked(nodes, "TRUNCATE carts_cart, carts_idempotencyrecord CASCADE")
    found = RecordedCallers(server.url, tmp_path, follow=True)
    yield found
    print(f"\n{found}")
    with nodes[0].connect("carts") as fresh:
        assert found.audit(fresh) == []


def asked(nodes: list[Cluster], sql: str) -> list[Any]:
    return nodes[0].execute(sql, "carts")


def shard_of(nodes: list[Cluster], profile: object) -> tuple[int, int]:
    """Return the shard of the customer's carts, and the port of the worker that has it."""
    sql = f"""SELECT shardid, nodeport FROM citus_shards
        WHERE shardid = get_shard_id_for_distribution_column('carts_cart', '{profile}'::uuid)"""
    [(shard, port)] = asked(nodes, sql)
    return shard, port


def profile_of(caller: HttpApi) -> str:
    return caller.base.split("/")[-2]


def caller_on(nodes: list[Cluster], server: Service, worker: Cluster) -> HttpApi:
    """Return a caller for a customer whose carts the worker has."""
    callers = (server.caller() for _ in range(100))
    return next(each for each in callers if shard_of(nodes, profile_of(each))[1] == worker.port)


@pytest.mark.parametrize("claims", [{}, {"partnerKey": "ACME"}], ids=["any", "one partner"])
@pytest.mark.parametrize("name", OF_A_CUSTOMER)
def test_an_operation_goes_to_the_shard_groups_of_its_customers(
    nodes: list[Cluster], server: Service, name: str, claims: dict[str, str]
) -> None:
    """The coordinator logs what it sends to the workers, with the shards' numbers."""
    groups = dict(asked(nodes, "SELECT shardid, shardminvalue FROM pg_dist_shard"))
    caller = server.caller(**claims)
    cart, [item] = created_with_items(caller, "Pizza")
    key = {} if name in READS else {"Idempotency_Key": "once"}
    log = nodes[0].data / "log"
    before = log.stat().st_size

    for _ in range(2):  # the second one is a replay
        assert send(caller, name, cart, item, **key).status_code == 200

    lines = log.read_bytes()[before:].decode().splitlines()
    # Meanwhile Citus itself may drop what a shard that was moved has left behind.
    sent = "\n".join(one for one in lines if "orphaned" not in one and "DROP TABLE" not in one)
    shards = {int(number) for number in re.findall(r"carts_[a-z]+_(\d+)", sent)}
    # A move writes to the shards of two customers, which may be the same, or on two workers.
    moves = name == "Move Cart"
    assert 1 <= len({groups[shard] for shard in shards}) <= 1 + moves, sent
    assert moves or "PREPARE TRANSACTION" not in sent


CHECK_AGAIN = """
from django.db import connection
from django.db.migrations import Migration, RemoveConstraint
from django.db.migrations.loader import MigrationLoader
from cartsvc.db.migration_operations import AddCheck
loader = MigrationLoader(connection)
state = loader.project_state(loader.graph.leaf_nodes("carts"))
check = state.models["carts", "cart"].get_constraint_by_name("carts_cart_note_paragraph")
migration = Migration("again", "carts")
migration.operations = [RemoveConstraint("cart", check.name), AddCheck("cart", check)]
with connection.schema_editor() as editor:
    migration.apply(state, editor)
"""


def test_a_check_goes_and_comes_on_every_server(server: Service) -> None:
    server.manage("shell", "-c", CHECK_AGAIN)
    server.restart()
    caller = server.caller()
    assert shown(caller, created(caller))


def kill(worker: Cluster) -> None:
    """Kill all processes of the server at once."""
    others = children(worker.pid)
    signal_all(signal.SIGKILL, worker.pid, *others)
    wait_until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in others))


def test_a_killed_worker_stops_its_own_customers_only(
    nodes: list[Cluster], server: Service, recorded: RecordedCallers
) -> None:
    """What was acknowledged is there when the worker is back."""
    _, port = shard_of(nodes, recorded.profile)
    lost, other = sorted(nodes[1:], key=lambda worker: worker.port != port)
    here, there = (caller_on(nodes, server, worker) for worker in (lost, other))
    gone, kept = f"/{created(here)}", f"/{created(there)}"

    def lose() -> None:
        kill(lost)
        try:
            wait_until(lambda: here.get(gone).status_code == 503)
            for number in range(5):
                assert there.get(kept).status_code == 200
                assert there.patch(kept, {"note": f"{number}"}).status_code == 200
        finally:
            lost.start()
        wait_until(lambda: here.get(gone).status_code == 200)

    recorded.run(4, [lose, lose])
    assert here.delete(gone).status_code == there.delete(kept).status_code == 200


def test_a_row_that_somebody_holds(nodes: list[Cluster], server: Service) -> None:
    """The worker that has the row gives up in time, and other customers do not wait for it."""
    caller, other = server.caller(), server.caller()
    cart, [item] = created_with_items(caller, "Pizza")
    with nodes[0].connect("carts") as holder, holder.transaction():
        holder.execute(
            "SELECT 1 FROM carts_cart WHERE id = %s AND profile_key = %s FOR UPDATE",
            [cart, profile_of(caller)],
        )
        held = send(caller, "Update Item", cart, item)
        assert (held.status_code, held.json()["notifications"][0]["code"]) == (503, "unavailable")
        assert send(caller, "Get Cart", cart).status_code == 200
        assert send(other, "Create Cart").status_code == 200
    assert send(caller, "Update Item", cart, item).status_code == 200


def test_a_shard_that_moves_keeps_what_was_acknowledged(
    nodes: list[Cluster], recorded: RecordedCallers
) -> None:
    def wait_until_dropped() -> None:
        """Wait for Citus, which drops what a shard has left some seconds later.

        Until then the shard cannot go back, and nobody can drop the types of its columns.
        """
        left = "SELECT count(*) FROM pg_dist_cleanup"
        wait_until(lambda: asked(nodes, left) == [(0,)], 90)

    def move() -> None:
        wait_until_dropped()
        shard, port = shard_of(nodes, recorded.profile)
        target = next(worker.port for worker in nodes[1:] if worker.port != port)
        hosts = f"'127.0.0.1', {port}, '127.0.0.1', {target}"
        asked(nodes, f"SELECT citus_move_shard_placement({shard}, {hosts}, 'force_logical')")
        assert shard_of(nodes, recorded.profile) == (shard, target)

    recorded.run(4, [move, move])
    wait_until_dropped()


def test_the_service_on_a_worker(nodes: list[Cluster], server: Service) -> None:
    """Its commands go to the coordinator, as they go past a pooler."""
    asked(nodes, session_limits("cartsvc"))
    on_coordinator = server.caller()
    cart, [item] = created_with_items(on_coordinator, "Pizza")
    with service(
        nodes[1].url("carts", user="cartsvc"),
        DATABASE_ADMIN_URL=nodes[0].url("carts", user="cartsvc"),
    ) as running:
        caller = running.caller()
        caller.base = on_coordinator.base.replace(server.url, running.url)
        caller.token = on_coordinator.token
        assert shown(caller, cart) == shown(on_coordinator, cart)
        for name in ("Update Item", "Create Cart"):
            assert send(caller, name, cart, item).status_code == 200
        assert len(on_coordinator.get().json()["data"]["carts"]) == 2
        assert send(caller, "Delete Cart", cart).status_code == 200
        assert send(on_coordinator, "Get Cart", cart).status_code == 404
