"""Real servers on free ports, each in a folder of its own and gone with its test."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Never

import jwt
import psycopg
import pytest
import requests

ROOT = Path(__file__).resolve().parents[2]
SIGNING_KEY = "the-signing-key-of-the-chaos-tests-0123456789"


def missing(what: str) -> Never:
    """Skip where a machine lacks a program; in CI it must be there."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing")


def program(name: str, *folders: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *folders, "/usr/sbin"]))
    return found or missing(name)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(happened: Callable[[], Any], seconds: float = 30) -> float:
    """Return how long it took until `happened()` was true."""
    started = time.monotonic()
    while not happened():
        assert time.monotonic() - started < seconds, "it did not happen in time"
        time.sleep(0.02)
    return time.monotonic() - started


class Postgres:
    """A private cluster that writes to disk as a production one does."""

    def __init__(self, folder: Path, **settings: object) -> None:
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        self.pg_ctl = program("pg_ctl", *map(str, versions))
        self.data = folder / "data"
        # PostgreSQL refuses to run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(folder, self.user)
        self.port = free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        self.run("initdb", "-o", "-U postgres -A trust --no-locale -E UTF8")
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

    def run(self, command: str, *options: str) -> None:
        subprocess.run(
            [self.pg_ctl, command, "-D", self.data, *options],
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )

    def start(self) -> None:
        self.run("start", "-w", "-s", "-l", str(self.data / "log"))

    def stop(self, mode: str = "immediate") -> None:
        self.run("stop", "-w", "-s", "-m", mode)

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True)

    def execute(self, statements: str) -> None:
        with self.connect() as connection:
            connection.execute(statements)


@contextmanager
def postgres(**settings: object) -> Iterator[Postgres]:
    with tempfile.TemporaryDirectory(prefix="cartsvc-") as folder:
        server = Postgres(Path(folder), **settings)
        try:
            yield server
        finally:
            with suppress(subprocess.CalledProcessError):  # a test may have stopped it
                server.stop()


class Service:
    """gunicorn with the project's own configuration file."""

    def __init__(self, folder: Path, database_url: str, *, root: Path, **env: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.sqlite = database_url.removeprefix("sqlite:///")
        self.root = root
        self.log = folder / "service.log"
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "DATABASE_URL": database_url,
            "SECRET_KEY": "the-secret-key-of-the-chaos-tests-" * 2,
            "JWT_SIGNING_KEY": SIGNING_KEY,
            "BIND": f"127.0.0.1:{self.port}",
            "WEB_CONCURRENCY": "2",
            **env,
        }
        self.manage("migrate", "--verbosity=0")
        self.start()

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self.root,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "-c", "cartsvc/gunicorn.py"],
                cwd=self.root,
                env=self.env,
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(self.is_up, 60)
        except BaseException:
            self.process.kill()
            raise

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        with suppress(requests.RequestException):
            return requests.get(f"{self.url}/healthz", timeout=2).ok
        return False

    def workers(self) -> list[int]:
        pid = self.process.pid
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(40)

    def restart(self, **env: str) -> None:
        self.stop()
        self.env |= env
        self.start()


@contextmanager
def service(database_url: str = "", *, root: Path = ROOT, **env: str) -> Iterator[Service]:
    """Run the service, on a SQLite file of its own if no database is named."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cartsvc-")))
        url = database_url or f"sqlite:///{folder / 'carts.sqlite3'}"
        server = Service(folder, url, root=root, **env)
        try:
            yield server
        finally:
            server.process.kill()
            server.process.wait()


class Caller:
    """A caller over the wire: a bearer who speaks for a profile of its own."""

    def __init__(self, url: str, profile: uuid.UUID | None = None, **claims: Any) -> None:
        self.base = f"{url}/v2.0/customers/{profile or uuid.uuid4()}/carts"
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = f"Bearer {bearer_token(**claims)}"

    def request(
        self, method: str, path: str = "", body: Any = None, **headers: str
    ) -> requests.Response:
        return self.session.request(
            method, f"{self.base}{path}", json=body, headers=headers, timeout=10
        )


def bearer_token(**claims: Any) -> str:
    payload = {
        "sub": "chaos",
        "scope": "Cart.Write",
        "exp": int(time.time()) + 3600,
        **claims,
    }
    return jwt.encode(payload, SIGNING_KEY, algorithm="HS256")
