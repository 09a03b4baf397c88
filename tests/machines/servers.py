"""Real servers on free ports, each in its own folder, stopped when the test ends."""

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import requests

from cartsvc.db.database_url import connection_settings
from tests.support.callers import HttpApi
from tests.support.programs import ROOT, children, free_port, is_ok, manage, wait_until

# The limits up to which everything is promised to hold.
RAISED = {"MAX_BODY_BYTES": "1048576", "MAX_ITEMS": "500", "MAX_CART_OPTIONS": "5000"}
SIGNING_KEY = "the-signing-key-of-the-tests-0123456789"


def session_limits(role: str) -> str:
    """Return SQL for a role that has no `options` of its connection, as behind a pooler."""
    limits = connection_settings("postgres:///postgres", for_requests=True)["SESSION"]
    return "; ".join(f"ALTER ROLE {role} SET {name} = '{limits[name]}'" for name in limits)


class Service:
    """The service as `manage.py serve` runs it."""

    def __init__(
        self, folder: Path, database_url: str, log: Path, *, root: Path, **env: str
    ) -> None:
        self.bind = env.get("BIND", f"127.0.0.1:{free_port()}")
        self.port = int(self.bind.rpartition(":")[2])
        self.url = f"http://{self.bind}"
        self.name = f"{socket.gethostname()}:{self.port}"
        self.sqlite = database_url.removeprefix("sqlite:///")
        self.root = root
        self.log = log
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "DATABASE_URL": database_url,
            "SECRET_KEY": "the-secret-key-of-the-tests-" * 2,
            "JWT_SIGNING_KEY": SIGNING_KEY,
            "BIND": self.bind,
            "TMPDIR": str(folder),  # what it leaves when it is killed
            "WEB_CONCURRENCY": "2",
            **env,
        }
        self.command = [sys.executable, "manage.py", "serve"]
        if not database_url.startswith("sqlite:"):  # a file is migrated by `serve`
            self.manage("migrate", "--verbosity=0")
        self.start()

    def manage(self, *arguments: str) -> str:
        done = manage(*arguments, cwd=self.root, **self.env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def caller(self, **claims: Any) -> HttpApi:
        """Return a caller for a profile of its own."""
        return HttpApi(self.url, uuid.uuid4(), key=SIGNING_KEY, **claims)

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.root,
                env=self.env,
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(self.is_up)
        except BaseException:
            self.process.kill()
            raise

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return is_ok(f"{self.url}/healthz", timeout=2)

    def workers(self) -> list[int]:
        return children(self.process.pid)

    def lose_a_worker(self) -> None:
        """Kill the oldest worker, and wait until another is in its place.

        The service would end with an error if the new one were killed within seconds.
        """
        whole = int(self.env["WEB_CONCURRENCY"])
        wait_until(lambda: len(self.workers()) == whole)  # the last loss may not be over
        dead = self.workers()[0]
        os.kill(dead, signal.SIGKILL)
        wait_until(lambda: dead not in (now := self.workers()) and len(now) == whole)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(40)

    def restart(self, **env: str) -> None:
        self.stop()
        self.env |= env
        self.start()


def is_ready(url: str) -> bool:
    return is_ok(f"{url}/readyz")


def readiness(server: Service, session: Any = requests) -> tuple[int, str]:
    """Return the status of `/readyz`, and what it says."""
    answer = session.get(f"{server.url}/readyz", timeout=60)
    return answer.status_code, answer.json()["status"]


def scrape(server: Service) -> dict[str, float]:
    """Return the service's own metrics."""
    text = requests.get(f"http://{server.env['METRICS_BIND']}/metrics", timeout=60).text
    pairs = re.findall(r"^(cartsvc_\S+(?: \S+)*?) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in pairs}


def connected(
    port: int, certificate: str = "", *, receive: int = 0, address: str = ""
) -> socket.socket:
    """Connect from this address of loopback, through TLS if there is a certificate.

    `receive` is the size of the buffer for what comes, in bytes.
    """
    plain = socket.socket()
    plain.settimeout(30)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if receive:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    if address:
        plain.bind((address, 0))
    try:
        plain.connect(("127.0.0.1", port))
    except OSError:
        plain.close()
        raise
    if not certificate:
        return plain
    context = ssl.create_default_context(cafile=certificate)
    return context.wrap_socket(plain, server_hostname="localhost")


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Have a process answer nobody meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def service(
    database_url: str = "", *, root: Path = ROOT, log: Path | None = None, **env: str
) -> Iterator[Service]:
    """Run the service. Without a database given, it has an SQLite file of its own."""
    with ExitStack() as stack:
        place = tempfile.TemporaryDirectory(prefix="cartsvc-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(place))
        url = database_url or f"sqlite:///{folder / 'carts.sqlite3'}"
        server = Service(folder, url, log or folder / "service.log", root=root, **env)
        try:
            yield server
        finally:
            server.process.kill()
            server.process.wait()


ISSUER = "https://id.example.com/"


@contextmanager
def with_issuer(address: str, database_url: str = "", **env: str) -> Iterator[Service]:
    """Run the service with the keys that an issuer has at this address."""
    keys = {"JWT_ALGORITHM": "RS256", "JWT_JWK_URL": address, "JWT_ISSUER": ISSUER}
    with service(database_url, **keys, JWT_SIGNING_KEY="", **env) as server:
        yield server


def timed(caller: HttpApi, *request: Any, **headers: str) -> tuple[requests.Response, float]:
    """Return the answer and its time in seconds, without the delay of a busy machine.

    The delay is taken to be ten times the time of /healthz, which waits for nothing.
    """
    url = f"{caller.base.partition('/v2.0')[0]}/healthz"
    delay = 10 * requests.get(url, timeout=60).elapsed.total_seconds()
    answer = caller.request(*request, **headers)
    return answer, answer.elapsed.total_seconds() - delay


def serves(server: Service, requests: int = 20) -> None:
    caller = server.caller()
    assert [caller.get().status_code for _ in range(requests)] == [200] * requests


def replaces_a_worker(server: Service) -> None:
    server.lose_a_worker()
    assert wait_until(server.is_up) < 5


def ends(server: Service) -> None:
    server.stop()
    assert server.process.returncode == 0
