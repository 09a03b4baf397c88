"""The service behind a real PgBouncer that lends a connection for a transaction.

FAULTS=4 repeats the faults as often.
"""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.chaos.ledger import NOTHING, Ledger
from tests.chaos.servers import ROOT, SIGNING_KEY, Service, service, timed
from tests.chaos.test_deadline import PATIENCE_SECONDS
from tests.chaos.test_faults import ROUNDS, crash, terminate_connections
from tests.chaos.test_recovery import new_cart, unavailable
from tests.support.clusters import Cluster, private_cluster
from tests.support.poolers import pooled
from tests.support.programs import wait_until


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    with private_cluster() as server:
        yield server


@pytest.fixture(scope="module")
def mended(own_cluster: Cluster) -> Iterator[dict[str, str]]:
    """A pooler whose database is set as the refusal to start says. Yields a service's variables."""
    with pooled(own_cluster.url()) as variables:
        refused = subprocess.run(
            [sys.executable, "manage.py", "serve"],
            cwd=ROOT,
            env={
                **variables,
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
        terminate_connections(own_cluster)  # those that the pooler keeps
        yield variables


@pytest.fixture(scope="module")
def server(mended: dict[str, str]) -> Iterator[Service]:
    with service(mended["DATABASE_URL"], **mended) as running:
        yield running


def test_faults_lose_nothing(own_cluster: Cluster, server: Service) -> None:
    own_cluster.execute("TRUNCATE carts_cart CASCADE")  # another test may have come first
    ledger = Ledger(server.url)
    faults = [lambda: terminate_connections(own_cluster), lambda: crash(own_cluster)]
    ledger.run(6, faults * ROUNDS)
    with own_cluster.connect() as fresh:
        assert ledger.audit(fresh) == NOTHING
    print(ledger.refusals, end=" ")
    assert set(ledger.refusals) <= {503, "ConnectionError"}


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
