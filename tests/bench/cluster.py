"""A private PostgreSQL with the settings that initdb gives: every commit reaches the disk."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.bench import processes


def binary(name: str) -> str:
    """Return the path of one of PostgreSQL's programs, the newest version installed."""
    homes = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda home: float(home.parts[-2])
    )
    path = shutil.which(name, path=":".join([*map(str, reversed(homes)), os.environ["PATH"]]))
    if path is None:
        raise SystemExit(f"The benchmark needs PostgreSQL's {name}.")
    return path


@dataclass(frozen=True)
class Cluster:
    pid: int
    port: int

    def url(self, database: str) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def track_statements(self, which: str) -> None:
        self.execute(f"ALTER SYSTEM SET pg_stat_statements.track = '{which}'")
        self.execute("SELECT pg_reload_conf()")
        time.sleep(1)  # until every connection has heard of it

    def statements(self, database: str) -> int:
        """Return how many statements the database has been sent since the last call.

        What its foreign keys look up for themselves is no statement.
        """
        [(calls,)] = self.execute(
            "SELECT coalesce(sum(calls), 0)::int FROM pg_stat_statements"
            " WHERE query NOT LIKE '%FOR KEY SHARE OF x'"
            f" AND dbid = (SELECT oid FROM pg_database WHERE datname = '{database}')"
        )
        self.execute("SELECT pg_stat_statements_reset()")
        return calls


@contextmanager
def private_cluster() -> Iterator[Cluster]:
    # PostgreSQL refuses to run as root.
    owner = {"user": "postgres", "group": "postgres", "extra_groups": []}
    owner = owner if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        if owner:
            shutil.chown(folder, "postgres", "postgres")
        data, port = f"{folder}/data", processes.free_port()
        subprocess.run(
            [binary("initdb"), "--auth=trust", "--username=postgres", "--encoding=UTF8",
             "--locale=C.UTF-8", data],
            cwd=folder, stdout=subprocess.DEVNULL, check=True, **owner,
        )  # fmt: skip
        # Everything else is as initdb leaves it. Counting statements is a run of its own.
        Path(data, "postgresql.auto.conf").write_text(
            f"port = {port}\n"
            "listen_addresses = '127.0.0.1'\n"
            f"unix_socket_directories = '{folder}'\n"
            "max_connections = 300\n"
            "shared_preload_libraries = 'pg_stat_statements'\n"
            "pg_stat_statements.track = 'none'\n"
        )
        postgres = subprocess.Popen(
            [binary("postgres"), "-D", data], cwd=folder, stderr=subprocess.DEVNULL, **owner
        )
        try:
            processes.wait_for_port(port, postgres)
            ready = [binary("pg_isready"), "--quiet", "--host=127.0.0.1", f"--port={port}"]
            while subprocess.run(ready, check=False).returncode:
                time.sleep(0.05)
            cluster = Cluster(postgres.pid, port)
            cluster.execute("CREATE EXTENSION pg_stat_statements")
            yield cluster
        finally:
            postgres.terminate()
            postgres.wait()
