"""The service and its rivals: how each is installed, migrated and started."""

import os
import secrets
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.support.clusters import Cluster
from tests.support.programs import ROOT, accepts, free_port, running
from tests.support.tokens import mint

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
ENVIRONMENT = ROOT / "var" / "bench-venv"
SIGNING_KEY = secrets.token_urlsafe(48)
WORKERS, THREADS = "2", "4"
TUTORIAL = "tests.bench.rivals.tutorial"


@dataclass(frozen=True)
class Server:
    """A running server."""

    name: str
    pid: int
    port: int
    token: str


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


def environment(cluster: Cluster, database: str, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "cartsvc.settings",
        "DATABASE_URL": cluster.url(database),
        "SECRET_KEY": secrets.token_urlsafe(64),
        "JWT_SIGNING_KEY": SIGNING_KEY,
        "WEB_CONCURRENCY": WORKERS,
        "THREADS": THREADS,
        "DRAIN_SECONDS": "0",
        **more,
    }


def bearer(key: str = SIGNING_KEY) -> str:
    return f"Bearer {mint(key=key, sub='bench', exp=int(time.time()) + 86_400)}"


def migrate(cluster: Cluster, database: str) -> None:
    cluster.execute(f"CREATE DATABASE {database}")
    manage(environment(cluster, database), "migrate", "--verbosity=0")


def manage(variables: dict[str, str], *command: str, python: str = sys.executable) -> str:
    return subprocess.run(
        [python, "-m", "django", *command],
        cwd=ROOT,
        env=variables,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout


@contextmanager
def started(name: str, variables: dict[str, str], token: str, *command: str) -> Iterator[Server]:
    """Run the command, in which {port} stands for the port, until the block ends."""
    port = free_port()
    with running(
        [part.format(port=port) for part in command],
        lambda: accepts(port),
        cwd=ROOT,
        env={**variables, "BIND": f"127.0.0.1:{port}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        yield Server(name, process.pid, port, token)


@contextmanager
def service(cluster: Cluster, name: str = "service") -> Iterator[Server]:
    migrate(cluster, name)
    command = sys.executable, "manage.py", "serve"
    with started(name, environment(cluster, name), bearer(), *command) as server:
        yield server


def gunicorn(application: str) -> list[str]:
    """Return the command that runs a rival under a plain gunicorn."""
    return [
        *(bench_python(), "-m", "gunicorn", application, "--bind=127.0.0.1:{port}"),
        *(f"--workers={WORKERS}", f"--threads={THREADS}", "--no-control-socket"),
    ]


@contextmanager
def floor(cluster: Cluster) -> Iterator[Server]:
    migrate(cluster, "floor")
    command = gunicorn("tests.bench.rivals.floor:application")
    with started("floor", environment(cluster, "floor"), bearer(), *command) as server:
        yield server


@contextmanager
def tutorial(cluster: Cluster) -> Iterator[Server]:
    cluster.execute("CREATE DATABASE tutorial")
    variables = environment(cluster, "tutorial", DJANGO_SETTINGS_MODULE=f"{TUTORIAL}.settings")
    variables["DJANGO_SUPERUSER_PASSWORD"] = "bench"
    manage_rival = partial(manage, variables, python=bench_python())
    manage_rival("migrate", "--run-syncdb", "--verbosity=0")
    manage_rival("createsuperuser", "--noinput", "--username=bench", "--email=bench@localhost")
    token = manage_rival("drf_create_token", "bench").split()[2]
    command = gunicorn("django.core.wsgi:get_wsgi_application()")
    with started("tutorial", variables, f"Token {token}", *command) as server:
        yield server


@contextmanager
def fastapi(cluster: Cluster) -> Iterator[Server]:
    migrate(cluster, "fastapi")
    command = [
        *(bench_python(), "-m", "uvicorn", "tests.bench.rivals.fastapi_cart:app"),
        *("--loop=uvloop", "--http=httptools"),
        *("--port={port}", f"--workers={WORKERS}", "--no-access-log"),
    ]
    with started("fastapi", environment(cluster, "fastapi"), bearer(), *command) as server:
        yield server


@contextmanager
def all_of_them(cluster: Cluster) -> Iterator[list[Server]]:
    """Start the service, its rivals, and the service again, which gives the error bar."""
    with ExitStack() as stack:
        starts = service, floor, tutorial, fastapi, partial(service, name="again")
        yield [stack.enter_context(start(cluster)) for start in starts]


def load(cluster: Cluster, carts: int) -> None:
    """Fill the service's database with this many carts."""
    command = [sys.executable, "-m", "tests.bench.load", f"--carts={carts}"]
    subprocess.run(command, cwd=ROOT, env=environment(cluster, "service"), check=True)
