"""Two migrations of one PostgreSQL database at once."""

import os
import subprocess
import sys

from tests.chaos.servers import ROOT
from tests.support.clusters import Cluster
from tests.support.programs import wait_until


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
    """The lock and statement timeouts do not hold for a waiting migration."""
    cluster.execute("CREATE DATABASE held")
    waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    longer = (
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'advisory'"
        " AND query_start < clock_timestamp() - interval '3 seconds'"
    )
    with cluster.connect("held") as other, other.transaction():
        other.execute("SELECT pg_advisory_xact_lock(hashtext('cartsvc.migrate'))")
        process = migrating(cluster.url("held"))
        wait_until(lambda: other.execute(waiting).fetchone())
        wait_until(lambda: other.execute(longer).fetchone())
        assert other.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
