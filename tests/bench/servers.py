"""The service and its floor: how each is installed, migrated and started."""

import json
import os
import secrets
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.bench import load_generator
from tests.bench.scenarios import Request
from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import ROOT, accepts, free_port, manage, running
from tests.support.tokens import mint

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
ENVIRONMENT = ROOT / "var" / "bench-venv"
SIGNING_KEY = secrets.token_urlsafe(48)
WORKERS, THREADS = "2", "4"


@dataclass
class Server:
    """A running server."""

    name: str
    pid: int
    port: int
    token: str

    def written(self, method: str, path: str, body: Any = None) -> bytes:
        """Return the bytes of a request."""
        return load_generator.request(
            method, path, self.token, b"" if body is None else json.dumps(body).encode()
        )

    def ask(self, *request: Any) -> Any:
        """Send a request, and return the data of its answer."""
        answer = load_generator.ask(self.port, self.written(*request))
        return json.loads(answer, parse_float=Decimal).get("data")

    def endless(self, requests: dict[str, list[Request]]) -> dict[str, Iterator[bytes]]:
        """Return the bytes of each scenario's requests, over and over.

        Each run goes on where the last one ended: whoever began anew would replace items with the
        options that they have.
        """
        return {
            name: cycle([self.written(*one) for one in scenario])
            for name, scenario in requests.items()
        }

    def load(
        self,
        requests: Iterator[bytes],
        seconds: float,
        concurrency: int,
        rate: float | None = None,
    ) -> load_generator.Sample:
        """Send the requests for so long."""
        return load_generator.run(
            self.port,
            requests,
            concurrency=concurrency,
            more=lambda _, elapsed: elapsed < seconds,
            rate=rate,
        )


def bench_python() -> str:
    """Return the interpreter of the benchmark's own environment. It is installed on first use."""
    python = ENVIRONMENT / "bin" / "python"
    wanted, stamp = REQUIREMENTS.read_text(), ENVIRONMENT / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"Installing {REQUIREMENTS.name} under {ENVIRONMENT} …")
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", REQUIREMENTS], check=True)
        stamp.write_text(wanted)
    return str(python)


def command(name: str, port: int) -> list[str]:
    """Return the command of a server."""
    if name in {"service", "again"}:
        return [sys.executable, "manage.py", "serve"]
    return [
        *(bench_python(), "-m", "gunicorn", "tests.bench.floor:application"),
        *(f"--bind=127.0.0.1:{port}", f"--workers={WORKERS}"),
        f"--threads={int(THREADS) + 2}",  # as many as the service has
        "--no-control-socket",
    ]


def environment(cluster: Cluster, name: str, **more: str) -> dict[str, str]:
    """Return the variables of a server, whose database has its name."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "cartsvc.settings",
        "DATABASE_URL": cluster.url(name),
        "SECRET_KEY": secrets.token_urlsafe(64),
        "JWT_SIGNING_KEY": SIGNING_KEY,
        "WEB_CONCURRENCY": WORKERS,
        "THREADS": THREADS,
        "METRICS_BIND": f"127.0.0.1:{free_port()}",  # as every deployment has it
        **more,
    }


def migrate(cluster: Cluster, name: str) -> str:
    """Migrate a server's database, and return how a caller of the server is authorised."""
    manage("migrate", "--verbosity=0", **environment(cluster, name)).check_returncode()
    claims = {"sub": "bench", "scope": "Cart.Read Cart.Write Cart.AnyProfile"}
    return f"Bearer {mint(key=SIGNING_KEY, exp=int(time.time()) + 86_400, **claims)}"


@contextmanager
def started(cluster: Cluster, name: str, token: str, **more: str) -> Iterator[Server]:
    """Run a server on its database, with more variables."""
    port = free_port()
    with running(
        command(name, port),
        lambda: accepts(port),
        cwd=ROOT,
        env=environment(cluster, name, BIND=f"127.0.0.1:{port}", **more),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        yield Server(name, process.pid, port, token)


@contextmanager
def cluster_with(*names: str, **more: str) -> Iterator[tuple[Cluster, list[Server]]]:
    """Run these servers on a private cluster, with more variables."""
    # Autovacuum works when it likes, and its work would be one server's.
    with private_cluster(max_connections=300, autovacuum="off") as cluster, ExitStack() as stack:
        servers = []
        for name in names:
            cluster.execute(f"CREATE DATABASE {name}")
            server = started(cluster, name, migrate(cluster, name), **more)
            servers.append(stack.enter_context(server))
        yield cluster, servers


def load(cluster: Cluster, carts: int) -> None:
    """Fill the service's database with this many carts."""
    command = [sys.executable, "-m", "tests.bench.fill_database", f"--carts={carts}"]
    subprocess.run(command, cwd=ROOT, env=environment(cluster, "service"), check=True)


def time_desk(carts: int) -> int:
    """Time the pages of the support desk at this many carts."""
    with private_cluster(max_wal_size="8GB") as cluster:
        cluster.execute("CREATE DATABASE service")
        migrate(cluster, "service")
        load(cluster, carts)
        command = [sys.executable, "-m", "tests.bench.desk_pages"]
        return subprocess.run(command, cwd=ROOT, env=environment(cluster, "service")).returncode
