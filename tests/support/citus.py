"""A Citus cluster: a coordinator and two workers, on loopback, removed at the end.

    python -m tests.support.citus COMMAND …

runs a command, such as pytest --reuse-db, with DATABASE_URL at the coordinator. The test database
is distributed. Nothing is run where PostgreSQL has no Citus.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import POSTGRESQL, ROOT

WORKERS = 2
SETTINGS = {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",  # to move shards
    "max_prepared_transactions": 200,
    "max_connections": 100,
    "citus.node_conninfo": "sslmode=disable connect_timeout=2",
    "citus.shard_count": 8,  # a test that empties the tables empties each shard
}


def has_citus() -> bool:
    """Return whether the PostgreSQL that the tests start has the extension."""
    return any(
        Path("/usr/share/postgresql", home.parts[-2], "extension/citus.control").exists()
        for home in POSTGRESQL[:1]
    )


@contextmanager
def citus(*databases: str, **settings: object) -> Iterator[list[Cluster]]:
    """Run a cluster that has these databases. Yield its servers, the coordinator first."""
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(private_cluster(**SETTINGS, **settings)) for _ in range(WORKERS + 1)
        ]
        coordinator, *workers = nodes
        for name in databases:
            for node in nodes:
                node.execute(f"CREATE DATABASE {name}")
                node.execute("CREATE EXTENSION citus", name)
            address = "SELECT citus_set_coordinator_host('127.0.0.1', {})"
            coordinator.execute(address.format(coordinator.port), name)
            for worker in workers:
                coordinator.execute(f"SELECT citus_add_node('127.0.0.1', {worker.port})", name)
        yield nodes


def run(command: Sequence[str]) -> int:
    """Run the command on a cluster; return its status."""
    with citus("carts", "test_carts", fsync="off") as (coordinator, *_):
        for step in ("migrate", "distribute"):
            subprocess.run(
                [sys.executable, "manage.py", step],
                cwd=ROOT,
                env={**os.environ, "DATABASE_URL": coordinator.url("test_carts")},
                check=True,
                stdout=subprocess.DEVNULL,
            )
        env = {**os.environ, "DATABASE_URL": coordinator.url("carts")}
        return subprocess.run(command, env=env).returncode


if __name__ == "__main__":
    if has_citus():
        sys.exit(run(sys.argv[1:]))
    print("Not run: PostgreSQL has no Citus here.")
