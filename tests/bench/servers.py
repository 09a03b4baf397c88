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

from tests.support.citus import citus
from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import ROOT, accepts, free_port, running
from tests.support.tokens import mint

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
ENVIRONMENT = ROOT / "var" / "bench-venv"
SIGNING_KEY = secrets.token_urlsafe(48)
WORKERS, THREADS = "2", "4"
TUTORIAL = "tests.bench.rivals.tutorial"


@dataclass
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


def commands() -> dict[str, list[str]]:
    """Return the command of each server that has the service's tables. {port} is its port."""
    service = [sys.executable, "manage.py", "serve"]
    uvicorn = [
        *(bench_python(), "-m", "uvicorn", "tests.bench.rivals.fastapi_cart:app"),
        *("--loop=uvloop", "--http=httptools"),
        *("--port={port}", f"--workers={WORKERS}", "--no-access-log"),
    ]
    floor = gunicorn("tests.bench.rivals.floor:application")
    return {"service": service, "floor": floor, "fastapi": uvicorn, "again": service}


def gunicorn(application: str) -> list[str]:
    """Return the command that runs a rival under a plain gunicorn."""
    return [
        *(bench_python(), "-m", "gunicorn", application, "--bind=127.0.0.1:{port}"),
        *(f"--workers={WORKERS}", f"--threads={THREADS}", "--no-control-socket"),
    ]


@contextmanager
def started(cluster: Cluster, name: str) -> Iterator[Server]:
    """Run the server of this name on a database of its own."""
    if name == "tutorial":
        variables, token = migrated_tutorial(cluster)
        command = gunicorn("django.core.wsgi:get_wsgi_application()")
    else:
        migrate(cluster, name)
        variables, token, command = environment(cluster, name), bearer(), commands()[name]
    with serving(name, command, variables, token) as server:
        yield server


@contextmanager
def serving(
    name: str, command: list[str], variables: dict[str, str], token: str
) -> Iterator[Server]:
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


def migrated_tutorial(cluster: Cluster) -> tuple[dict[str, str], str]:
    """Return the variables and the token of a tutorial's cart with a database."""
    cluster.execute("CREATE DATABASE tutorial")
    variables = environment(cluster, "tutorial", DJANGO_SETTINGS_MODULE=f"{TUTORIAL}.settings")
    variables["DJANGO_SUPERUSER_PASSWORD"] = "bench"
    manage_rival = partial(manage, variables, python=bench_python())
    manage_rival("migrate", "--run-syncdb", "--verbosity=0")
    manage_rival("createsuperuser", "--noinput", "--username=bench", "--email=bench@localhost")
    return variables, f"Token {manage_rival('drf_create_token', 'bench').split()[2]}"


@contextmanager
def cluster_with(*names: str) -> Iterator[tuple[Cluster, list[Server]]]:
    """Run these servers on a private cluster."""
    with private_cluster(max_connections=300) as cluster, ExitStack() as stack:
        yield cluster, [stack.enter_context(started(cluster, name)) for name in names]


@contextmanager
def spread() -> Iterator[list[Cluster]]:
    """Run a Citus cluster, the coordinator first, with the customers spread over both workers."""
    with citus("service") as nodes:
        for command in "migrate", "distribute":
            manage(environment(nodes[0], "service"), command)
        yield nodes


def load(cluster: Cluster, carts: int) -> None:
    """Fill the service's database with this many carts."""
    command = [sys.executable, "-m", "tests.bench.load", f"--carts={carts}"]
    subprocess.run(command, cwd=ROOT, env=environment(cluster, "service"), check=True)
