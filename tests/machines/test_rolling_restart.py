"""Rolling restarts: two instances restart one after the other, and no request fails.

Each instance restarts once. The long form has six restarts of each:

    RESTARTS=6 pytest tests/machines/test_rolling_restart.py -s
"""

import os
from functools import partial
from pathlib import Path

from tests.machines.campaign.recorded_callers import RecordedCallers
from tests.machines.proxies import HOST, nginx
from tests.machines.servers import Service, is_ready, service
from tests.support.clusters import Cluster
from tests.support.programs import wait_until

RESTARTS = int(os.environ.get("RESTARTS", "1"))
CALLERS = 6


def test_behind_nginx(cluster: Cluster, tmp_path: Path) -> None:
    env = {"ALLOWED_HOSTS": f"{HOST},127.0.0.1", "HTTPS_ONLY": "false"}
    with (
        service(cluster.url(), **env) as one,
        service(cluster.url(), **env) as two,
        nginx(one, two) as proxy,
    ):

        def restart(instance: Service) -> None:
            instance.restart()
            wait_until(lambda: is_ready(instance.url))

        recorded = RecordedCallers(proxy.url, tmp_path, verify=proxy.certificate)
        recorded.run(CALLERS, [partial(restart, instance) for instance in [one, two] * RESTARTS])
    print(f"\n{RESTARTS} rolling restarts: {recorded}")
    # Others may have removed an item, made another version, or be paying.
    assert recorded.statuses.keys() <= {200, 404, 409, 412}
    with cluster.connect() as fresh:
        assert recorded.audit(fresh) == []
