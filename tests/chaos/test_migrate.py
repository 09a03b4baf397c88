"""Two migrations of one PostgreSQL database at once."""

import os
import subprocess
import sys

from tests.chaos.servers import ROOT
from tests.support.clusters import Cluster
from tests.support.programs import wait_until

WAITING = (
    "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'"
    " AND query LIKE '%pg_try_advisory_xact_lock%' AND datname = current_database()"
)


def migrating(url: str) -> subprocess.Popen[str]:
    secrets = {"SECRET_KEY": "a-secret-key-of-the-chaos-tests-" * 2, "JWT_SIGNING_KEY": "ab" * 32}
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", "--noinput"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATABASE_URL": url, **secrets},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_one_of_two_migrations_waits_for_the_other(cluster: Cluster) -> None:
    cluster.execute("CREATE DATABASE twice")
    both = [migrating(cluster.url("twice")) for _ in range(2)]
    printed = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], printed
    assert sorted("No migrations to apply" in text for text in printed) == [False, True]


def test_it_waits_for_longer_than_for_a_row(cluster: Cluster) -> None:
    """No timeout holds for a waiting migration."""
    cluster.execute("CREATE DATABASE held")
    longer = f"{WAITING} AND xact_start < clock_timestamp() - interval '3 seconds'"
    with cluster.connect("held") as other, other.transaction():
        other.execute("SELECT pg_advisory_xact_lock(hashtext('cartsvc.migrate'))")
        process = migrating(cluster.url("held"))
        wait_until(lambda: cluster.execute(longer, "held"))
        assert other.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed


def test_an_index_is_built_while_another_migration_waits(cluster: Cluster) -> None:
    """A concurrent build waits for the statements that run, so the waiting must not be one."""
    cluster.execute("CREATE DATABASE building")
    cluster.execute("CREATE TABLE built (id int)", "building")
    with cluster.connect("building") as other, other.transaction():
        other.execute("SELECT pg_advisory_xact_lock(hashtext('cartsvc.migrate'))")
        process = migrating(cluster.url("building"))
        wait_until(lambda: cluster.execute(WAITING, "building"))
        with cluster.connect("building") as building:
            building.execute("SET lock_timeout = '5s'")
            building.execute("CREATE INDEX CONCURRENTLY built_id ON built (id)")
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
