"""The service behind a real PgBouncer that lends a connection for a transaction.

FAULTS=4 repeats the faults as often.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.ledger import Ledger
from tests.chaos.servers import ROOT, SIGNING_KEY, Service, service, timed
from tests.chaos.test_deadline import PATIENCE_SECONDS
from tests.chaos.test_faults import ROUNDS, crash, terminate_connections
from tests.chaos.test_recovery import new_cart, unavailable
from tests.chaos.wire import Wire, wire
from tests.support.clusters import Cluster, private_cluster
from tests.support.poolers import Pooler, pooled
from tests.support.programs import FOLDERS, wait_until


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    with private_cluster() as server:
        yield server


@pytest.fixture(scope="module")
def network(own_cluster: Cluster) -> Iterator[Wire]:
    """What the pooler reaches the database by."""
    with wire(f"127.0.0.1:{own_cluster.port}") as there:
        yield there


@pytest.fixture(scope="module")
def mended(own_cluster: Cluster, network: Wire) -> Iterator[Pooler]:
    """A pooler whose database is set as the refusal to start says."""
    with pooled(f"postgres://postgres@127.0.0.1:{network.port}/postgres") as pooler:
        refused = subprocess.run(
            [sys.executable, "manage.py", "serve"],
            cwd=ROOT,
            env={
                **pooler.variables,
                "SECRET_KEY": "s3cret-0123456789" * 4,
                "JWT_SIGNING_KEY": SIGNING_KEY,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert refused.returncode != 0
        assert refused.stderr.count("cartsvc.E034") == 4, refused.stderr
        for statement in re.findall("ALTER ROLE .*?;", refused.stderr):
            own_cluster.execute(statement)
        have_it_connect_anew(pooler)
        yield pooler


def have_it_connect_anew(pooler: Pooler) -> None:
    """Run the README's command for it: the pooler's sessions are older than the role's settings."""
    section = (ROOT / "cartsvc/README.md").read_text().partition("## A pooler\n")[2]
    (command,) = re.findall("`(runuser .*? RECONNECT)`", section)
    if os.geteuid() != 0:  # then the pooler runs as this very user
        command = command.removeprefix("runuser -u postgres -- ")
    subprocess.run(
        ["bash", "-euc", command],
        cwd="/",
        env={"PATH": FOLDERS, "SOCKET_DIR": pooler.folder, "LISTEN_PORT": str(pooler.port)},
        check=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def server(mended: Pooler) -> Iterator[Service]:
    with service(mended.variables["DATABASE_URL"], **mended.variables) as running:
        yield running


def kill(pooler: Pooler) -> None:
    pooler.kill()
    time.sleep(1)
    pooler.start()


def freeze(pooler: Pooler) -> None:
    pooler.process.send_signal(signal.SIGSTOP)
    time.sleep(2)
    pooler.process.send_signal(signal.SIGCONT)


def cut(network: Wire) -> None:
    network.cut()
    time.sleep(2)
    network.mend()


def slow(network: Wire) -> None:
    network.slow()
    time.sleep(2)
    network.slow()


def test_faults_lose_nothing(
    own_cluster: Cluster, network: Wire, mended: Pooler, server: Service, tmp_path: Path
) -> None:
    ledger = Ledger(server.url, tmp_path)
    faults = [
        lambda: terminate_connections(own_cluster),
        lambda: crash(own_cluster),
        lambda: kill(mended),
        lambda: freeze(mended),
        lambda: cut(network),
        lambda: slow(network),
    ]
    ledger.run(6, faults * ROUNDS)
    with own_cluster.connect() as fresh:
        assert ledger.audit(fresh) == []
    print(ledger, end=" ")
    on_purpose = {400, 404, 412}  # the callers send such updates, too
    assert ledger.refusals.keys() - on_purpose <= {503, "RemoteDisconnected"}


def test_a_frozen_server_behind_it(own_cluster: Cluster, server: Service) -> None:
    caller = server.caller()
    cart = new_cart(caller)
    with own_cluster.frozen():
        for _ in range(2):
            answer, seconds = timed(caller, "GET", f"/{cart}")
            print(f"{seconds:.2f} s", end=" ")
            assert unavailable(answer)
            assert seconds < PATIENCE_SECONDS
    # The pooler finds out for itself, within server_login_retry.
    wait_until(lambda: caller.get(f"/{cart}").status_code == 200)
