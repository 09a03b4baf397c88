"""The README's backup commands, word for word: back up under load, restore, compare."""

import os
import re
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.chaos.ledger import NOTHING, Ledger
from tests.chaos.servers import ROOT, SIGNING_KEY, Service, service
from tests.support import bodies
from tests.support.callers import HttpApi
from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import wait_until

SECTION = (ROOT / "cartsvc/README.md").read_text().partition("## Backup and restore\n")[2]
_, ARCHIVE, BASE, RESTORE, _ = re.findall(
    "^```sh\n(.*?)^```", SECTION.partition("\n## ")[0], re.MULTILINE | re.DOTALL
)
TABLES = (
    "carts_cart",
    "carts_cartitem",
    "carts_cartitemoption",
    "carts_cartchange",
    "carts_idempotencyrecord",
)


def contents(connection: Any) -> dict[str, list[Any]]:
    return {
        table: sorted(map(repr, connection.execute(f"SELECT * FROM {table}"))) for table in TABLES
    }


def under_load(ledger: Ledger, backup: Any) -> None:
    """Call `backup` while two clients are writing."""
    clients = [threading.Thread(target=ledger.write, args=[number]) for number in range(2)]
    for client in clients:
        client.start()
    try:
        ledger.wait_for_progress()
        backup()
    finally:
        ledger.over.set()
        for client in clients:
            client.join()


def assert_serves(server: Service, ledger: Ledger) -> None:
    """Check that the restored service has the carts and can create new ones."""
    restored = HttpApi(server.url, ledger.profile, key=SIGNING_KEY)
    cart = restored.get(f"/{ledger.shared_cart}").json()["data"]
    assert cart["items"][0]["itemId"] == str(ledger.shared_item)
    assert restored.post("", bodies.cart()).status_code == 200


def by_half(ledger: Ledger, connection: Any) -> dict[str, int]:
    """Audit a backup made under load. Writes after the backup do not count as lost."""
    return {**ledger.audit(connection), "lost": 0}


def test_postgresql(tmp_path: Path) -> None:
    dump = str(tmp_path / "carts.dump")
    with private_cluster() as cluster, service(cluster.url()) as server:
        programs = cluster.programs
        back_up = [programs / "pg_dump", "--format=custom", f"--file={dump}", cluster.url()]
        ledger = Ledger(server.url)
        under_load(ledger, lambda: subprocess.run(back_up, check=True))
        with restored(programs, dump) as copy, copy.connect() as connection:
            assert by_half(ledger, connection) == NOTHING
        subprocess.run(back_up, check=True)
        with cluster.connect() as connection:
            original = contents(connection)
    with restored(programs, dump) as copy:
        with copy.connect() as connection:
            assert contents(connection) == original
            assert ledger.audit(connection) == NOTHING
        with service(copy.url()) as server:
            assert_serves(server, ledger)


@contextmanager
def restored(programs: Path, dump: str) -> Iterator[Cluster]:
    """Restore the backup into a new, empty cluster."""
    with private_cluster() as copy:
        restore = [programs / "pg_restore", "--exit-on-error", f"--dbname={copy.url()}", dump]
        subprocess.run(restore, check=True)
        yield copy


def test_postgresql_to_a_moment_between_two_writes() -> None:
    with private_cluster() as cluster:
        home = cluster.data.parent
        variables = {"BACKUP": f"{home}/backup", "PGDATA": f"{home}/restored"}
        run_as_postgres(cluster, ARCHIVE, variables)
        cluster.stop("fast")
        cluster.start()
        with service(cluster.url()) as server:
            ledger = Ledger(server.url)
            under_load(ledger, lambda: run_as_postgres(cluster, BASE, variables))
            before, _ = ledger.create(ledger.everybody(), "before", 2)
            [[moment]] = cluster.execute("SELECT clock_timestamp()::text")
            after = ledger.everybody().post(body=bodies.cart()).json()["data"]["cartId"]
            [[segment]] = cluster.execute("SELECT pg_walfile_name(pg_switch_wal())")
            wait_until((home / "backup/wal" / segment).exists)
        cluster.stop("immediate")
        run_as_postgres(cluster, RESTORE, variables | {"MOMENT": moment})
        cluster.data = home / "restored"
        cluster.start()
        wait_until(lambda: cluster.execute("SELECT pg_is_in_recovery()") == [(False,)])
        with cluster.connect() as connection:
            assert ledger.audit(connection) == NOTHING
        with service(cluster.url()) as server:
            caller = HttpApi(server.url, ledger.profile, key=SIGNING_KEY)
            assert caller.get(f"/{before}").status_code == 200
            assert caller.get(f"/{after}").status_code == 404
            assert_serves(server, ledger)


def run_as_postgres(cluster: Cluster, commands: str, variables: dict[str, str]) -> None:
    subprocess.run(
        ["bash", "-euc", commands],
        user=cluster.user,
        group=cluster.user,
        extra_groups=[] if cluster.user else None,
        cwd="/",
        env={
            "PATH": f"{cluster.programs}:{os.environ['PATH']}",
            "PGHOST": "127.0.0.1",
            "PGPORT": str(cluster.port),
            "PGUSER": "postgres",
            **variables,
        },
        check=True,
        timeout=60,
    )


def test_sqlite(tmp_path: Path) -> None:
    backup = tmp_path / "backup.sqlite3"
    with service() as server:
        ledger = Ledger(server.url)

        def copy() -> None:
            # VACUUM INTO fails: the CHECK constraints call functions that only Django registers.
            with (
                closing(sqlite3.connect(server.sqlite)) as live,
                closing(sqlite3.connect(backup)) as target,
            ):
                live.backup(target)

        under_load(ledger, copy)
        with closing(sqlite3.connect(backup)) as connection:
            assert by_half(ledger, connection) == NOTHING
        backup.unlink()
        copy()
        with closing(sqlite3.connect(server.sqlite)) as connection:
            original = contents(connection)
    with closing(sqlite3.connect(backup)) as connection:
        assert contents(connection) == original
        assert ledger.audit(connection) == NOTHING
    with service(f"sqlite:///{backup}") as server:
        assert_serves(server, ledger)
