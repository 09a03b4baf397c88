"""What goes wrong in PostgreSQL raises its alert, by the shipped rules, before anything fails."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from tests.machines.scrapes import FIVE_MINUTES, SECONDS, Scrapes
from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import AS_POSTGRES, ROOT, printed, program, wait_until

HEALTHY = 2  # scrapes before the fault


@pytest.fixture
def postgresql() -> Iterator[tuple[Cluster, Scrapes]]:
    """A cluster that is watched, with an archive."""
    unit = (ROOT / "cartsvc/deploy/cartsvc-postgresql-metrics.service").read_text()
    [psql] = re.findall(r"-- (psql .*) \\\n", unit)
    sql = (ROOT / "cartsvc/deploy/cartsvc-postgresql-metrics.sql").read_text()
    settings = {"archive_mode": "on", "archive_command": "true", "wal_init_zero": "off"}
    never_frozen = {"autovacuum_freeze_max_age": 2_000_000_000}
    with private_cluster(max_connections=20, **settings, **never_frozen) as cluster:
        command = [program("psql"), *psql.split()[1:], "--dbname", cluster.url()]
        scrapes = Scrapes(node={"one": partial(printed, *command, input=sql)})
        cluster.execute("SELECT pg_switch_wal()")
        archived = "SELECT archived_count FROM pg_stat_archiver"
        wait_until(lambda: cluster.execute(archived)[0][0])
        scrapes.take(HEALTHY)
        yield cluster, scrapes


@pytest.mark.parametrize("command", ["false", "sleep 1000"], ids=["it fails", "it hangs"])
def test_an_archive_that_takes_no_wal_calls(
    postgresql: tuple[Cluster, Scrapes], command: str
) -> None:
    """The WAL that waits for it is as old as it would be by then."""
    cluster, scrapes = postgresql
    cluster.configure(f"SET archive_command = '{command}'")
    cluster.execute("SELECT pg_switch_wal() FROM pg_create_restore_point('x')")
    [waiting] = (cluster.data / "pg_wal/archive_status").glob("*.ready")

    def meanwhile() -> None:
        ready = waiting.stat().st_mtime - SECONDS
        os.utime(waiting, (ready, ready))

    scrapes.take(FIVE_MINUTES, meanwhile)
    fired = scrapes.fired(since=HEALTHY)
    assert fired.keys() == {"CartsvcArchive"}
    assert 60 < fired["CartsvcArchive"] <= 180


def test_what_waits_on_a_standby_calls_nobody(postgresql: tuple[Cluster, Scrapes]) -> None:
    """It was a primary, and archives nothing now."""
    cluster, scrapes = postgresql
    cluster.configure("SET archive_command = 'false'")
    cluster.execute("SELECT pg_switch_wal() FROM pg_create_restore_point('x')")
    cluster.stop("fast")
    (cluster.data / "standby.signal").touch()
    cluster.start()
    assert cluster.execute("SELECT pg_is_in_recovery()") == [(True,)]
    waiting = [*(cluster.data / "pg_wal/archive_status").glob("*.ready")]
    assert waiting
    for file in waiting:
        os.utime(file, (0, 0))
    scrapes.take(FIVE_MINUTES)
    assert scrapes.fired(since=HEALTHY) == {}


def test_connections_that_run_out_call(postgresql: tuple[Cluster, Scrapes]) -> None:
    cluster, scrapes = postgresql
    with ExitStack() as kept:
        for _ in range(16):
            kept.enter_context(cluster.connect())
        scrapes.take(FIVE_MINUTES)
    assert scrapes.fired(since=HEALTHY).keys() == {"CartsvcConnections"}


def test_a_forgotten_slot_calls(postgresql: tuple[Cluster, Scrapes]) -> None:
    cluster, scrapes = postgresql
    cluster.execute("SELECT pg_create_physical_replication_slot('forgotten', true)")
    with cluster.connect() as connection:
        for _ in range(130):
            connection.execute("SELECT pg_switch_wal() FROM pg_create_restore_point('x')")
    scrapes.take(FIVE_MINUTES)
    assert scrapes.fired(since=HEALTHY).keys() == {"CartsvcSlot"}


def test_transactions_that_are_never_frozen_call(postgresql: tuple[Cluster, Scrapes]) -> None:
    cluster, scrapes = postgresql
    cluster.stop("fast")
    next_one = 1_100_000_000
    (cluster.data / f"pg_xact/{next_one >> 20:04X}").write_bytes(bytes(256 * 1024))
    reset = [program("pg_resetwal"), "-x", next_one, "-D", cluster.data]
    printed(*reset, cwd="/", **AS_POSTGRES)
    shutil.chown(cluster.data / f"pg_xact/{next_one >> 20:04X}", cluster.user, cluster.user)
    cluster.start()
    scrapes.take(2 * FIVE_MINUTES)
    assert scrapes.fired(since=HEALTHY).keys() == {"CartsvcWraparound"}
