"""The pages' backup commands, word for word: back up under load, restore, compare."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.machines.campaign.recorded_callers import RecordedCallers
from tests.machines.servers import Service, service
from tests.support.carts import created, shown
from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import FOLDERS, ROOT, program, wait_until

SECTION = (ROOT / "cartsvc/README.md").read_text().partition("## Backup and restore\n")[2]
SET_UP, RESTORE, DUMP = re.findall(
    "^```sh\n(.*?)^```", SECTION.partition("\n## ")[0], re.MULTILINE | re.DOTALL
)
BACK_UP, RESTORE_DUMP = DUMP.split("\n", 1)
FIRST_PAGE = (ROOT / "README.md").read_text()
COPY, REPLACE = re.findall("^    (.*backup.sqlite3.*)$", FIRST_PAGE, re.MULTILINE)

CONFIGURATION = (ROOT / "cartsvc/deploy/pgbackrest.conf").read_text()
(BASE,) = re.findall(
    "^ExecStart=(.*)$", (ROOT / "cartsvc/deploy/cartsvc-backup.service").read_text(), re.MULTILINE
)
# The machine's own commands, for a cluster that this user may start and stop.
MACHINE = f"""
apt-get() {{ :; }}
install() {{ :; }}
runuser() {{ shift 3; "$@"; }}
systemctl() {{
  case "$*" in
    *cartsvc-backup) {BASE} ;;
    "stop "*postgresql@15-main) pg_ctl stop -D "$PGDATA" -w -s || [ ! -d "$PGDATA" ] ;;
    *postgresql@15-main) pg_ctl "$1" -D "$PGDATA" -w -s -l "$PGDATA.log" ;;
  esac
}}
"""


def contents(cluster: Cluster, database: str = "postgres") -> list[str]:
    """Return all rows of all tables, sorted."""
    [[xml]] = cluster.execute("SELECT schema_to_xml('public', true, false, '')::text", database)
    return sorted(xml.split("\n\n"))


def under_load(recorded: RecordedCallers, backup: Callable[[], object]) -> None:
    """Call `backup` while two clients are writing."""
    recorded.run(2, [recorded.wait_for_progress, backup])


def assert_serves(server: Service, recorded: RecordedCallers) -> None:
    """Check that the restored service has the carts and can create new ones."""
    caller = recorded.caller(server)
    assert shown(caller, recorded.shared_cart)["items"][0]["itemId"] == recorded.shared_item
    assert created(caller)


def test_postgresql(tmp_path: Path) -> None:
    with private_cluster() as cluster, service(cluster.url()) as server:
        variables = {"PGUSER": "backup", "PGPASSFILE": str(passfile(cluster, tmp_path))}

        def back_up() -> None:
            run(BACK_UP, tmp_path, cluster, **variables, PGDATABASE="postgres")

        recorded = RecordedCallers(server.url, tmp_path)
        under_load(recorded, back_up)
        with restored(tmp_path) as copy, copy.connect("fresh") as connection:
            assert recorded.audit(connection, snapshot=True) == []
        back_up()
        original = contents(cluster)
    with restored(tmp_path) as copy:
        assert contents(copy, "fresh") == original
        with copy.connect("fresh") as connection:
            assert recorded.audit(connection) == []
        with service(copy.url("fresh")) as server:
            assert_serves(server, recorded)


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


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the shipped configuration, which pgBackRest reads. It keeps two backups."""
    program("pgbackrest")
    with tempfile.TemporaryDirectory(prefix="cartsvc-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        home.chmod(0o777)
        shipped = {"repo1-retention-full=7": "=2", "archive-push-queue-max=2GiB": "=48MiB"}
        text = CONFIGURATION
        for line, value in shipped.items():
            assert f"\n{line}\n" in text
            text = text.replace(line, line.partition("=")[0] + value)
        (home / "pgbackrest.conf").write_text(text)
        monkeypatch.setenv("PGBACKREST_CONFIG", f"{home}/pgbackrest.conf")
        monkeypatch.setenv("PGBACKREST_PG1_SOCKET_PATH", folder)
        for name in ("REPO1", "LOG", "LOCK"):
            monkeypatch.setenv(f"PGBACKREST_{name}_PATH", f"{home}/{name}")
            (home / name).mkdir()
            (home / name).chmod(0o777)
        yield home


@contextmanager
def backed_up(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Cluster, Callable[..., None]]]:
    """Follow the page on a cluster, and yield what runs more of it there."""
    with private_cluster(unix_socket_directories=home) as cluster:
        monkeypatch.setenv("PGBACKREST_PG1_PATH", str(cluster.data))
        monkeypatch.setenv("PGBACKREST_PG1_PORT", str(cluster.port))

        def as_postgres(command: str, **variables: str) -> None:
            here = command.replace("/var/lib/postgresql/15", str(cluster.data.parent))
            run(
                MACHINE + re.sub(r"(?<!15-)\bmain\b", "data", here),
                "/",
                cluster,
                user=cluster.user,
                PGDATA=str(cluster.data),
                **{name: value for name, value in os.environ.items() if "BACKREST" in name},
                **variables,
            )

        cluster.stop()
        cluster.start()
        as_postgres(SET_UP)
        yield cluster, as_postgres


def test_postgresql_to_a_moment_between_two_writes(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the third day, with a backup before the moment and one after it; the oldest is gone."""
    with backed_up(home, monkeypatch) as (cluster, as_postgres):
        with service(cluster.url()) as server:
            recorded = RecordedCallers(server.url, tmp_path)
            under_load(recorded, lambda: as_postgres(BASE))
            time.sleep(1)  # pgBackRest counts in seconds
            before = recorded.hand.create(2)
            [[moment]] = cluster.execute("SELECT clock_timestamp()::text")
            after = created(recorded.caller(server))
            as_postgres(BASE)
        kept = sorted((home / "REPO1/backup/cartsvc").glob("*F"))
        assert len(kept) == 2
        first = re.findall('archive-start="(\\w+)', (kept[0] / "backup.manifest").read_text())
        archived = (home / "REPO1/archive/cartsvc").glob("*/*/*-*.zst")
        assert min(file.name for file in archived)[:24] >= first[0][:24]
        as_postgres(RESTORE, MOMENT=moment)
        wait_until(lambda: cluster.execute("SELECT pg_is_in_recovery()") == [(False,)])
        with cluster.connect() as connection:
            assert recorded.audit(connection) == []
        with service(cluster.url()) as server:
            caller = recorded.caller(server)
            assert caller.get(f"/{before}").status_code == 200
            assert caller.get(f"/{after}").status_code == 404
            assert_serves(server, recorded)


@pytest.mark.parametrize("lost", [False, True], ids=["all that there is", "the disk is lost"])
def test_postgresql_to_the_last_write(
    lost: bool, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with backed_up(home, monkeypatch) as (cluster, as_postgres):
        with service(cluster.url()) as server:
            recorded = RecordedCallers(server.url, tmp_path)
            last = recorded.hand.create(2)
        if lost:
            archived = "SELECT last_archived_wal > pg_walfile_name('{}') FROM pg_stat_archiver"
            [[written]] = cluster.execute("SELECT pg_current_wal_lsn()::text")
            cluster.execute("SELECT pg_switch_wal() FROM pg_create_restore_point('x')")
            cluster.execute("SELECT pg_switch_wal() FROM pg_create_restore_point('y')")
            wait_until(lambda: cluster.execute(archived.format(written)) == [(True,)])
            cluster.stop()
            shutil.rmtree(cluster.data)
        for _ in range(1 if lost else 3):  # what lay there is kept each time
            as_postgres(RESTORE, MOMENT="")
            wait_until(lambda: cluster.execute("SELECT pg_is_in_recovery()") == [(False,)])
        kept = {file.name for file in cluster.data.parent.glob("before*")}
        assert kept == (set() if lost else {"before", "before.~1~", "before.~2~"})
        with cluster.connect() as connection:
            assert recorded.audit(connection) == []
        with service(cluster.url()) as server:
            assert recorded.caller(server).get(f"/{last}").status_code == 200


def test_a_second_repository_is_encrypted_and_leads_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (home / "pgbackrest.conf").read_text()
    wanted = re.sub("^#(repo2-(?:cipher|retention|path))", r"\1", text, flags=re.MULTILINE)
    wanted = wanted.replace("cipher-pass=", "cipher-pass=s3cret").replace(
        "=/cartsvc", f"={home}/two"
    )
    assert wanted.count("\nrepo2-") == 4
    (home / "pgbackrest.conf").write_text(wanted)
    with backed_up(home, monkeypatch) as (cluster, as_postgres):
        cluster.execute("CREATE TABLE kept AS SELECT 'well-known words' AS text")
        as_postgres(BASE.replace(" backup", " --repo=2 backup"))
        as_postgres(RESTORE.replace("cartsvc restore", "cartsvc --repo=2 restore"), MOMENT="")
        wait_until(lambda: cluster.execute("SELECT pg_is_in_recovery()") == [(False,)])
        assert cluster.execute("SELECT * FROM kept") == [("well-known words",)]
    manifest = next((home / "two/backup/cartsvc").glob("*F/backup.manifest"))
    assert b"[backup]" not in manifest.read_bytes()


def test_a_full_archive_costs_the_way_back_and_not_the_service(
    home: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_disk.chmod(0o777)
    monkeypatch.setenv("PGBACKREST_REPO1_PATH", str(small_disk))
    with backed_up(home, monkeypatch) as (cluster, as_postgres):
        with (small_disk / "other").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(65536)):
                pass

        def gone(count: str) -> int:
            """Fill a segment, and return how many were archived or dropped, or failed."""
            cluster.execute("SELECT pg_switch_wal() FROM pg_create_restore_point('x')")
            time.sleep(0.2)
            [[number]] = cluster.execute(f"SELECT {count}_count FROM pg_stat_archiver")
            return int(number)

        wait_until(lambda: gone("failed"))
        before = gone("archived")
        wait_until(lambda: gone("archived") > before)
        (small_disk / "other").unlink()
        as_postgres(BASE)


def test_sqlite(tmp_path: Path) -> None:
    live, backup = tmp_path / "var/carts.sqlite3", tmp_path / "backup.sqlite3"
    live.parent.mkdir()
    with service(f"sqlite:///{live}") as server:
        recorded = RecordedCallers(server.url, tmp_path)
        under_load(recorded, lambda: run(COPY, tmp_path))
        with closing(sqlite3.connect(backup)) as connection:
            assert recorded.audit(connection, snapshot=True) == []
        backup.unlink()
        run(COPY, tmp_path)
        with closing(sqlite3.connect(live)) as connection:
            original = list(connection.iterdump())
        # What the backup does not have stands in the log beside the file, as after a power cut.
        later = created(recorded.caller(server))
        for process in (*server.workers(), server.process.pid):
            os.kill(process, signal.SIGKILL)
    assert Path(f"{live}-wal").stat().st_size
    run(REPLACE, tmp_path)
    with closing(sqlite3.connect(live)) as connection:
        assert list(connection.iterdump()) == original
        assert recorded.audit(connection) == []
    with service(f"sqlite:///{live}") as server:
        assert_serves(server, recorded)
        assert recorded.caller(server).get(f"/{later}").status_code == 404
