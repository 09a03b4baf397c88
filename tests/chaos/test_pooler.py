"""The service behind a real PgBouncer that lends a connection for a transaction.

tests/chaos/campaign.py has its faults under load.
"""

import os
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.chaos.servers import ROOT, SIGNING_KEY, Service, service, timed
from tests.chaos.test_deadline import PATIENCE_SECONDS
from tests.chaos.test_recovery import unavailable
from tests.support.carts import created
from tests.support.clusters import Cluster
from tests.support.poolers import Pooler, pooled
from tests.support.programs import FOLDERS, manage, wait_until


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Iterator[Service]:
    """The service behind a pooler whose database is set as the refusal to start says."""
    with pooled(cluster.url()) as pooler:
        secrets = {"SECRET_KEY": "s3cret-0123456789" * 4, "JWT_SIGNING_KEY": SIGNING_KEY}
        refused = manage("serve", **pooler.variables, **secrets)
        assert refused.returncode != 0
        assert refused.stderr.count("cartsvc.E034") == 4, refused.stderr
        for statement in re.findall("ALTER ROLE .*?;", refused.stderr):
            cluster.execute(statement)
        have_it_connect_anew(pooler)
        with service(pooler.variables["DATABASE_URL"], **pooler.variables) as running:
            yield running


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


def test_a_frozen_server_behind_it(cluster: Cluster, server: Service) -> None:
    caller = server.caller()
    cart = created(caller)
    with cluster.frozen():
        for _ in range(2):
            answer, seconds = timed(caller, "GET", f"/{cart}")
            print(f"{seconds:.2f} s", end=" ")
            assert unavailable(answer)
            assert seconds < PATIENCE_SECONDS
    # The pooler finds out for itself, within server_login_retry.
    wait_until(lambda: caller.get(f"/{cart}").status_code == 200)
