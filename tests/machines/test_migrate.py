"""What `migrate` meets on PostgreSQL: others at work, and a late start."""

import os
import subprocess
import sys

from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import ROOT, wait_until

SECRETS = {
    "SECRET_KEY": "a-secret-key-of-the-tests-" * 2,
    "JWT_SIGNING_KEY": "abcdef" * 6,
}
WAITING = """SELECT pid FROM pg_stat_activity
    WHERE query LIKE '%pg_try_advisory_xact_lock%' AND state = 'idle in transaction'
        AND datname = current_database() AND xact_start < clock_timestamp() - interval '4 seconds'
"""


def migrating(url: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", "--noinput", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATABASE_URL": url, **SECRETS},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def succeeds(process: subprocess.Popen[str]) -> str:
    printed, _ = process.communicate(timeout=180)
    assert process.returncode == 0, printed
    return printed


def until_said(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout
    assert any(text in line for line in process.stdout)


def test_one_of_two_migrations_waits_for_the_other(cluster: Cluster) -> None:
    cluster.execute("CREATE DATABASE twice")
    both = [migrating(cluster.url("twice")) for _ in range(2)]
    printed = [succeeds(process) for process in both]
    assert sorted("No migrations to apply" in text for text in printed) == [False, True]


def test_a_migration_waits_without_a_limit_and_in_nobodys_way(cluster: Cluster) -> None:
    """No timeout holds for it. A concurrent build waits for the statements that run."""
    cluster.execute("CREATE DATABASE held")
    cluster.execute("CREATE TABLE built (id int)", "held")
    with cluster.connect("held") as other, other.transaction():
        other.execute("SELECT pg_advisory_xact_lock(hashtext('cartsvc.migrate'))")
        process = migrating(cluster.url("held"))
        wait_until(lambda: cluster.execute(WAITING, "held"))
        with cluster.connect("held") as building:
            building.execute("SET lock_timeout = '60s'")
            building.execute("CREATE INDEX CONCURRENTLY built_id ON built (id)")
        assert other.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,)
    succeeds(process)


def test_it_waits_for_a_database_that_starts_late() -> None:
    with private_cluster() as late:
        late.stop()
        process = migrating(late.url())
        until_said(process, "Connection refused")
        until_said(process, "11 more attempts follow.")
        late.start()
        succeeds(process)


def test_it_lets_traffic_pass_and_tries_again_for_a_lock(cluster: Cluster) -> None:
    cluster.execute("CREATE DATABASE busy")
    url = cluster.url("busy")
    succeeds(migrating(url))
    with cluster.connect("busy") as other, other.transaction():
        other.execute("SELECT count(*) FROM carts_cart")  # as a report that takes long
        process = migrating(url, "carts", "zero")
        until_said(process, "canceling statement due to lock timeout")
        until_said(process, "11 more attempts follow.")
        with cluster.connect("busy") as customer:
            customer.execute("SET lock_timeout = '60s'")
            assert customer.execute("SELECT count(*) FROM carts_cart").fetchone() == (0,)
    succeeds(process)
    assert cluster.execute("SELECT to_regclass('carts_cart')", "busy") == [(None,)]
