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

from tests.bench import processes
from tests.support.clusters import Cluster
from tests.support.programs import free_port
from tests.support.tokens import mint

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
ENVIRONMENT = ROOT / "var" / "bench-venv"
SIGNING_KEY = secrets.token_urlsafe(48)
WORKERS, THREADS = "2", "4"

SERVE = [sys.executable, "manage.py", "serve"]
TUTORIAL = "tests.bench.rivals.tutorial"


@dataclass
class Server:
    """A running server."""

    name: str
    pid: int
    port: int
    token: str
    database: str


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


def gunicorn(application: str) -> list[str]:
    """Return the command that runs a rival under a plain gunicorn."""
    return [
        *(bench_python(), "-m", "gunicorn", application, "--bind=127.0.0.1:{port}"),
        *(f"--workers={WORKERS}", f"--threads={THREADS}", "--no-control-socket"),
    ]


def environment(cluster: Cluster, database: str, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
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
        env={"DJANGO_SETTINGS_MODULE": "cartsvc.settings", **variables},
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout


@contextmanager
def started(
    name: str, command: list[str], variables: dict[str, str], token: str, database: str
) -> Iterator[Server]:
    port = free_port()
    command = [part.format(port=port) for part in command]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**variables, "BIND": f"127.0.0.1:{port}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        processes.wait_for_port(port, process)
        yield Server(name, process.pid, port, token, database)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def service(cluster: Cluster, database: str, name: str = "service") -> Iterator[Server]:
    with started(name, SERVE, environment(cluster, database), bearer(), database) as server:
        yield server


@contextmanager
def floor(cluster: Cluster, database: str) -> Iterator[Server]:
    command = gunicorn("tests.bench.rivals.floor:application")
    with started("floor", command, environment(cluster, database), bearer(), database) as server:
        yield server


@contextmanager
def tutorial(cluster: Cluster, database: str) -> Iterator[Server]:
    cluster.execute(f"CREATE DATABASE {database}")
    variables = environment(cluster, database, DJANGO_SETTINGS_MODULE=f"{TUTORIAL}.settings")
    variables["DJANGO_SUPERUSER_PASSWORD"] = "bench"
    manage_rival = partial(manage, variables, python=bench_python())
    manage_rival("migrate", "--run-syncdb", "--verbosity=0")
    manage_rival("createsuperuser", "--noinput", "--username=bench", "--email=bench@localhost")
    token = manage_rival("drf_create_token", "bench").split()[2]
    command = gunicorn("django.core.wsgi:get_wsgi_application()")
    with started("tutorial", command, variables, f"Token {token}", database) as server:
        yield server


@contextmanager
def fastapi(cluster: Cluster, database: str) -> Iterator[Server]:
    command = [
        *(bench_python(), "-m", "uvicorn", "tests.bench.rivals.fastapi_cart:app"),
        *("--loop=uvloop", "--http=httptools"),
        *("--port={port}", f"--workers={WORKERS}", "--no-access-log"),
    ]
    with started("fastapi", command, environment(cluster, database), bearer(), database) as server:
        yield server


@contextmanager
def all_of_them(cluster: Cluster) -> Iterator[list[Server]]:
    """Start the service, its rivals, and the service again, which gives the error bar."""
    with ExitStack() as stack:
        for database in "service", "floor", "fastapi", "again":
            migrate(cluster, database)
        yield [
            stack.enter_context(start)
            for start in (
                service(cluster, "service"),
                floor(cluster, "floor"),
                tutorial(cluster, "tutorial"),
                fastapi(cluster, "fastapi"),
                service(cluster, "again", "service again"),
            )
        ]


def load(cluster: Cluster, database: str, carts: int) -> None:
    subprocess.run(
        [bench_python(), "-m", "tests.bench.load", f"--carts={carts}"],
        cwd=ROOT,
        env=environment(cluster, database),
        check=True,
    )
