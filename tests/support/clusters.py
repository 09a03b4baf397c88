"""A private PostgreSQL cluster in a temporary folder, removed at the end.

It keeps initdb's durable settings: every commit reaches the disk, as in production.
"""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.support.programs import AS_POSTGRES, children, free_port, program, signal_all


class Cluster:
    def __init__(self, folder: Path, **settings: object) -> None:
        self.pg_ctl = program("pg_ctl")
        self.data = folder / "data"
        self.user = AS_POSTGRES.get("user")
        if self.user:
            shutil.chown(folder, self.user, self.user)
        self.port = free_port()
        # What is made here need not outlive a power cut.
        self.run("initdb", "-o", "-U postgres -A trust --locale=C.UTF-8 -E UTF8 --no-sync")
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": 40,
            **settings,
        }
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        self.start()

    @property
    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])

    def url(self, database: str = "postgres", *, user: str = "postgres") -> str:
        return f"postgres://{user}@127.0.0.1:{self.port}/{database}"

    def run(self, command: str, *options: str) -> None:
        subprocess.run(
            [self.pg_ctl, command, "-D", self.data, *options],
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
            **AS_POSTGRES,
        )

    def start(self) -> None:
        self.run("start", "-w", "-s", "-l", str(self.data / "log"))

    def stop(self, mode: str = "immediate") -> None:
        self.run("stop", "-w", "-s", "-m", mode)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop every process of the server. The kernel goes on acknowledging what it is sent."""
        signal_all(signal.SIGSTOP, self.pid)  # the parent first: it starts no further one
        stopped = [self.pid, *children(self.pid)]
        signal_all(signal.SIGSTOP, *stopped)
        try:
            yield
        finally:
            signal_all(signal.SIGCONT, *stopped)

    def configure(self, setting: str) -> None:
        """Change a setting of the running server: `SET name = value`, or `RESET name`."""
        self.execute(f"ALTER SYSTEM {setting}")
        self.execute("SELECT pg_reload_conf()")

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(self.url(database), autocommit=True)

    def execute(self, statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with self.connect(database) as connection:
            cursor = connection.execute(statements)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def private_cluster(**settings: object) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="cartsvc-", ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder), **settings)
        try:
            yield cluster
        finally:
            with suppress(subprocess.CalledProcessError):  # a test may have stopped it already
                cluster.stop()
