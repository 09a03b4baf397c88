"""The README's backup commands, word for word: back up under load, restore, compare."""

import os
import re
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from tests.chaos.ledger import Ledger
from tests.chaos.servers import ROOT, Service, service
from tests.support.carts import created, shown
from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import FOLDERS, wait_until

SECTION = (ROOT / "cartsvc/README.md").read_text().partition("## Backup and restore\n")[2]
DUMP, ARCHIVE, BASE, RESTORE, SQLITE = re.findall(
    "^```sh\n(.*?)^```", SECTION.partition("\n## ")[0], re.MULTILINE | re.DOTALL
)
BACK_UP, RESTORE_DUMP = DUMP.split("\n", 1)
COPY, REPLACE = SQLITE.split("\n", 1)


def contents(cluster: Cluster, database: str = "postgres") -> list[str]:
    """Return all rows of all tables, sorted."""
    [[xml]] = cluster.execute("SELECT schema_to_xml('public', true, false, '')::text", database)
    return sorted(xml.split("\n\n"))


def under_load(ledger: Ledger, backup: Callable[[], object]) -> None:
    """Call `backup` while two clients are writing."""
    ledger.run(2, [ledger.wait_for_progress, backup])


def assert_serves(server: Service, ledger: Ledger) -> None:
    """Check that the restored service has the carts and can create new ones."""
    caller = ledger.caller(server)
    assert shown(caller, ledger.shared_cart)["items"][0]["itemId"] == ledger.shared_item
    assert created(caller)


def test_postgresql(tmp_path: Path) -> None:
    with private_cluster() as cluster, service(cluster.url()) as server:
        variables = {"PGUSER": "backup", "PGPASSFILE": str(passfile(cluster, tmp_path))}

        def back_up() -> None:
            run(BACK_UP, tmp_path, cluster, **variables, PGDATABASE="postgres")

        ledger = Ledger(server.url, tmp_path)
        under_load(ledger, back_up)
        with restored(tmp_path) as copy, copy.connect("fresh") as connection:
            assert ledger.audit(connection, snapshot=True) == []
        back_up()
        original = contents(cluster)
    with restored(tmp_path) as copy:
        assert contents(copy, "fresh") == original
        with copy.connect("fresh") as connection:
            assert ledger.audit(connection) == []
        with service(copy.url("fresh")) as server:
            assert_serves(server, ledger)


def passfile(cluster: Cluster, folder: Path) -> Path:
    """Make the role `backup`, who needs a password, and return the file where it stands."""
    cluster.execute("CREATE ROLE backup LOGIN PASSWORD 's3cret' IN ROLE pg_read_all_data")
    rules = cluster.data / "pg_hba.conf"
    rules.write_text("host all backup all scram-sha-256\n" + rules.read_text())
    cluster.execute("SELECT pg_reload_conf()")
    file = folder / "passwords"
    file.write_text(f"127.0.0.1:{cluster.port}:postgres:backup:s3cret\n")
    file.chmod(0o600)
    return file


@contextmanager
def restored(folder: Path) -> Iterator[Cluster]:
    """Restore the backup in the folder into a new, empty cluster."""
    with private_cluster() as copy:
        copy.execute("CREATE ROLE cartsvc")
        run(RESTORE_DUMP, folder, copy, FRESH_DATABASE="fresh")
        yield copy


def run(
    command: str,
    folder: Path | str,
    cluster: Cluster | None = None,
    user: str | None = None,
    **variables: str,
) -> None:
    """Run a command of the README in a folder. The environment says which cluster it is about."""
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(cluster.port)} if cluster else {}
    subprocess.run(
        ["bash", "-euc", command],
        user=user,
        group=user,
        extra_groups=[] if user else None,
        cwd=folder,
        env={"PATH": FOLDERS, "PGUSER": "postgres", **where, **variables},
        check=True,
        timeout=300,
    )


def test_postgresql_to_a_moment_between_two_writes(tmp_path: Path) -> None:
    with private_cluster() as cluster:
        home = cluster.data.parent
        variables = {"BACKUP": f"{home}/backup", "PGDATA": f"{home}/restored"}
        as_postgres = partial(run, folder="/", cluster=cluster, user=cluster.user, **variables)
        as_postgres(ARCHIVE)
        cluster.stop("fast")
        cluster.start()
        with service(cluster.url()) as server:
            ledger = Ledger(server.url, tmp_path)
            under_load(ledger, lambda: as_postgres(BASE))
            before = ledger.hand.create(2)
            [[moment]] = cluster.execute("SELECT clock_timestamp()::text")
            after = created(ledger.caller(server))
            [[segment]] = cluster.execute("SELECT pg_walfile_name(pg_switch_wal())")
            wait_until((home / "backup/wal" / segment).exists)
        cluster.stop("immediate")
        as_postgres(RESTORE, MOMENT=moment)
        cluster.data = home / "restored"
        cluster.start()
        wait_until(lambda: cluster.execute("SELECT pg_is_in_recovery()") == [(False,)])
        with cluster.connect() as connection:
            assert ledger.audit(connection) == []
        with service(cluster.url()) as server:
            caller = ledger.caller(server)
            assert caller.get(f"/{before}").status_code == 200
            assert caller.get(f"/{after}").status_code == 404
            assert_serves(server, ledger)


def test_sqlite(tmp_path: Path) -> None:
    live, backup = tmp_path / "var/carts.sqlite3", tmp_path / "backup.sqlite3"
    live.parent.mkdir()
    with service(f"sqlite:///{live}") as server:
        ledger = Ledger(server.url, tmp_path)
        under_load(ledger, lambda: run(COPY, tmp_path))
        with closing(sqlite3.connect(backup)) as connection:
            assert ledger.audit(connection, snapshot=True) == []
        backup.unlink()
        run(COPY, tmp_path)
        with closing(sqlite3.connect(live)) as connection:
            original = list(connection.iterdump())
        # What the backup does not have stands in the log beside the file, as after a power cut.
        later = created(ledger.caller(server))
        for process in (*server.workers(), server.process.pid):
            os.kill(process, signal.SIGKILL)
    assert Path(f"{live}-wal").stat().st_size
    run(REPLACE, tmp_path)
    with closing(sqlite3.connect(live)) as connection:
        assert list(connection.iterdump()) == original
        assert ledger.audit(connection) == []
    with service(f"sqlite:///{live}") as server:
        assert_serves(server, ledger)
        assert ledger.caller(server).get(f"/{later}").status_code == 404
