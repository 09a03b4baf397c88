"""Three machines in small: etcd, and Patroni with PostgreSQL on three addresses of loopback."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any

import psycopg
import requests

from tests.support.programs import (
    POSTGRESQL,
    ROOT,
    children,
    free_port,
    is_ok,
    missing,
    program,
    running,
    signal_all,
    wait_until,
)

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
PASSWORD = "the-password-of-the-tests"
# The faults here end processes, not machines, so the data can be in memory. On a disk that others
# keep busy, etcd and Patroni would take each other for dead.
MEMORY = Path("/dev/shm")  # a folder of its own is made in it
ROOM = 4 << 30  # bytes
PATRONI = [sys.executable, "-m", "patroni"]
if os.geteuid() == 0:
    # PostgreSQL refuses to run as root. The capability is for a Python in root's own folder.
    rights = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
    PATRONI = ["setpriv", *user, *rights, "--", *PATRONI]


def shipped(name: str, ports: dict[str, int], **values: object) -> dict[str, str]:
    """Return the variables of a shipped file, filled in, with other ports than the usual."""
    nodes = {f"NODE_{number}": host for number, host in enumerate(HOSTS, start=1)}
    text = Template((ROOT / "cartsvc/deploy" / name).read_text())
    filled = text.substitute({**nodes, "PASSWORD": PASSWORD, **values})
    for usual, other in ports.items():
        filled = re.sub(rf":{usual}\b", f":{other}", filled)
    return dict(re.findall(r"^(\w+)=(.*)$", filled, re.MULTILINE))


class Node:
    """One of the machines."""

    def __init__(self, folder: Path, number: int, etcd: str, ports: tuple[int, int]) -> None:
        self.name, self.host = f"node{number + 1}", HOSTS[number]
        self.postgresql_port, self.patroni_port = ports
        self.data = folder / self.name / "data"
        self.data.parent.mkdir()
        self.log = folder / f"{self.name}.log"
        if os.geteuid() == 0:
            shutil.chown(self.data.parent, "postgres", "postgres")
        # All are on one machine, so the socket of each is beside its data. Patroni goes by TCP
        # here: it takes no folder that is not absolute, and its user may not be "postgres".
        self.config = self.data.parent / "patroni.yml"
        shipped_config = (ROOT / "cartsvc/deploy/patroni.yml").read_text()
        self.config.write_text(shipped_config.replace("/var/lib/postgresql", '".."'))
        self.api = f"http://{self.host}:{self.patroni_port}"
        self.env = {
            "PATH": os.environ["PATH"],
            **shipped(
                "patroni.env",
                {"5432": self.postgresql_port, "8008": self.patroni_port},
                N=number + 1,
                ME=self.host,
            ),
            "PATRONI_POSTGRESQL_DATA_DIR": str(self.data),
            "PATRONI_POSTGRESQL_BIN_DIR": str(POSTGRESQL[0]),
            "PATRONI_ETCD3_HOSTS": etcd,
        }

    def start(self) -> None:
        with self.log.open("a") as log:
            command = [*PATRONI, self.config]
            self.process = subprocess.Popen(command, env=self.env, stdout=log, stderr=log, cwd="/")

    def postgres(self) -> list[int]:
        """Return the ids of PostgreSQL's processes, the postmaster's first."""
        with suppress(FileNotFoundError):
            postmaster = int((self.data / "postmaster.pid").read_text().partition("\n")[0])
            return [postmaster, *children(postmaster)]
        return []

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all that runs on this machine."""
        signal_all(number, self.process.pid, *self.postgres())

    def lose(self) -> None:
        """End it all at once, as a power cut does."""
        self.send(signal.SIGKILL)
        self.process.wait()

    def kill_postgresql(self) -> None:
        os.kill(self.postgres()[0], signal.SIGKILL)

    def is_primary(self) -> bool:
        return is_ok(f"{self.api}/primary", timeout=1)

    def post(self, path: str, body: Any = None) -> requests.Response:
        return requests.post(f"{self.api}/{path}", json=body, timeout=60)

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        address = f"{self.host}:{self.postgresql_port}/{database}?connect_timeout=3"
        return psycopg.connect(f"postgres://postgres:{PASSWORD}@{address}", autocommit=True)


class Nodes:
    """The three machines together."""

    def __init__(self, folder: Path, etcd: str) -> None:
        self.postgresql_port, self.patroni_port = ports = (free_port(), free_port())
        self.all = [Node(folder, number, etcd, ports) for number in range(len(HOSTS))]

    def wait_for_primary(self, *others: Node) -> Node:
        """Wait until there is a primary that is none of the others, and return it."""
        rest = [node for node in self.all if node not in others]
        wait_until(lambda: any(map(Node.is_primary, rest)), 90)
        return next(filter(Node.is_primary, rest))

    def modes(self) -> dict[str, str]:
        """Return what each node is to Patroni, such as `sync_standby`, if it is up and follows."""
        for node in self.all:
            with suppress(requests.RequestException):
                members = requests.get(f"{node.api}/cluster", timeout=1).json()["members"]
                return {
                    each["name"]: each["role"]
                    for each in members
                    if each["state"] == ("running" if each["role"] == "leader" else "streaming")
                }
        return {}

    def wait_until_whole(self) -> Node:
        """Wait until a primary has its two standbys. Return the primary."""

        def whole() -> bool:
            return sorted(self.modes().values()) == ["leader", "replica", "sync_standby"]

        with suppress(AssertionError):
            wait_until(whole, 60)
            return self.wait_for_primary()
        self.replace()
        wait_until(whole, 240)
        return self.wait_for_primary()

    def replace(self) -> None:
        """Make each node anew that does not follow the primary by itself, as an operator would."""
        self.wait_for_primary()
        modes = self.modes()
        for node in self.all:
            if node.name not in modes and not node.is_primary():
                print(f"{node.name} is replaced")
                node.lose()
                shutil.rmtree(node.data, ignore_errors=True)
                node.start()

    def synchronous(self) -> Node:
        """Return the standby that each acknowledged write has reached."""
        modes = self.modes()
        return next(node for node in self.all if modes.get(node.name) == "sync_standby")

    def url(self, *addresses: str) -> str:
        """Return the URL of the database at these addresses, or at all nodes' own."""
        own = [f"{node.host}:{self.postgresql_port}" for node in self.all]
        where = ",".join(addresses or own)
        return f"postgres://postgres:{PASSWORD}@{where}/carts?target_session_attrs=read-write"


@contextmanager
def three_nodes() -> Iterator[Nodes]:
    if not find_spec("patroni"):
        missing("patroni")
    with ExitStack() as stack:
        roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
        place = tempfile.TemporaryDirectory(
            prefix="cartsvc-", dir=MEMORY if roomy else None, ignore_cleanup_errors=True
        )
        folder = Path(stack.enter_context(place))
        folder.chmod(0o755)
        etcd = stack.enter_context(running_etcd(folder))
        nodes = Nodes(folder, etcd)
        try:
            for node in nodes.all:
                node.start()
            primary = nodes.wait_until_whole()
            with primary.connect() as connection:
                connection.execute("CREATE DATABASE carts")
            yield nodes
        finally:
            for node in nodes.all:
                node.lose()


@contextmanager
def running_etcd(folder: Path) -> Iterator[str]:
    """Run etcd, in which Patroni's nodes agree who is the primary. Yield its address."""
    ports = {port: free_port() for port in ("2379", "2380", "2381")}
    variables = shipped("etcd.env", ports, N=1, ME="127.0.0.1")
    variables["ETCD_INITIAL_CLUSTER"] = f"node1=http://127.0.0.1:{ports['2380']}"  # itself alone
    variables["ETCD_DATA_DIR"] = str(folder / "etcd")
    address = f"127.0.0.1:{ports['2379']}"
    env = {"PATH": os.environ["PATH"], **variables}
    health = f"http://{address}/health"
    with (
        (folder / "etcd.log").open("w") as log,
        running([program("etcd")], lambda: is_ok(health, 2), env=env, stdout=log, stderr=log),
    ):
        yield address
