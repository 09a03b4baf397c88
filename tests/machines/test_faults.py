"""SQLite whose workers are killed under load, and a full disk under either database.

`test_failover.py` has the faults of PostgreSQL. The long form repeats those of SQLite:

    FAULTS=9 pytest tests/machines/test_faults.py -s
"""

import os
import shutil
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

import psycopg

from tests.machines.campaign.recorded_callers import RecordedCallers
from tests.machines.servers import Service, service
from tests.support import bodies
from tests.support.carts import created
from tests.support.clusters import Cluster

ROUNDS = int(os.environ.get("FAULTS", "1"))


def test_on_sqlite(tmp_path: Path) -> None:
    with service() as server:
        recorded = RecordedCallers(server.url, tmp_path, follow=True)
        recorded.run(6, [server.lose_a_worker] * 3 * ROUNDS)
        with closing(sqlite3.connect(server.sqlite)) as fresh:
            assert recorded.audit(fresh) == []
            # The CHECK constraints call functions that only Django registers.
            fresh.execute("PRAGMA ignore_check_constraints = on")
            assert fresh.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    print(f"\nSQLite: {3 * ROUNDS} faults, {recorded}")


def test_a_full_disk_under_sqlite(small_disk: Path) -> None:
    with service(f"sqlite:///{small_disk}/carts.sqlite3") as server:
        acknowledged = fill(small_disk, server)
        with closing(sqlite3.connect(server.sqlite)) as fresh:
            carts = fresh.execute(CARTS).fetchall()
    assert carts == [(cart.replace("-", ""), 5) for cart in acknowledged]


def test_a_full_disk_under_postgresql(small_disk: Path, cluster: Cluster) -> None:
    shutil.chown(small_disk, cluster.user)
    cluster.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    cluster.execute("CREATE DATABASE small TABLESPACE small")
    with service(cluster.url("small")) as server:
        acknowledged = fill(small_disk, server)
        with psycopg.connect(server.env["DATABASE_URL"]) as fresh:
            carts = fresh.execute(CARTS).fetchall()
    cluster.execute("DROP DATABASE small")
    cluster.execute("DROP TABLESPACE small")
    assert carts == [(uuid.UUID(cart), 5) for cart in acknowledged]


CARTS = (
    "SELECT c.id, count(*) FROM carts_cart c JOIN carts_cartitem i ON i.cart_id = c.id"
    " GROUP BY c.id ORDER BY c.id"
)


def fill(disk: Path, server: Service) -> list[str]:
    """Create carts until the disk is full. Make room, and create another. Return their ids."""
    filler = disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(disk).free - 1024 * 1024))
    caller, ids, refused = server.caller(), [], 0
    while refused < 5:
        answer = caller.post("", bodies.cart(items=5))
        if answer.status_code == 200:
            ids.append(answer.json()["data"]["cartId"])
        else:
            assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
            refused += 1
    assert caller.get(f"/{ids[0]}").status_code == 200
    filler.unlink()
    return [*ids, created(caller, bodies.cart(items=5))]
