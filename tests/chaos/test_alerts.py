"""The alert rules: each fires at its cause only, and stops after it.

promtool plays the rules with made-up series. Then a real Prometheus watches the service while
every cause is made that is the service's, with shorter minutes.
"""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.chaos.prometheus import RULES, prometheus, shortened
from tests.chaos.servers import ROOT, service, stopped, with_issuer
from tests.chaos.traffic import traffic
from tests.support.clusters import Cluster, private_cluster
from tests.support.issuers import running as running_issuer
from tests.support.programs import free_port, program, wait_until
from tests.support.tokens import public_jwk

ALERTS = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
# What needs more than the service: the machine, nginx, other callers.
NOT_MADE = {
    *("CartsvcBackup", "CartsvcDisk", "CartsvcHousekeeping"),
    *("CartsvcSite", "CartsvcCertificate"),
    *("CartsvcBusy", "CartsvcTokens"),
}

Redis = tuple[str, subprocess.Popen[bytes]]


def test_each_alert_fires_at_its_cause_and_at_nothing_else() -> None:
    cases = ROOT / "tests/chaos/alerts.yml"
    assert set(re.findall(r'alertname="(\w+)', cases.read_text())) == ALERTS
    command = [program("promtool"), "test", "rules", cases]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_leads_to_a_row_of_the_page() -> None:
    page = (ROOT / "cartsvc/README.md").read_text()
    led = re.findall(
        r"alert: (\w+)(?:\n .*)+?\n +runbook_url: \S+/cartsvc/README.md#(\w+)\n", RULES.read_text()
    )
    assert dict(led) == {alert: alert.lower() for alert in ALERTS}
    rows = re.findall(r'^\| <a id="(\w+)"></a>\1 \|', page, re.MULTILINE | re.IGNORECASE)
    assert sorted(rows) == sorted(alert.lower() for alert in ALERTS)


PACED = """
    CREATE FUNCTION pace() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END $$;
    CREATE TRIGGER pace BEFORE INSERT ON carts_cart FOR EACH ROW EXECUTE FUNCTION pace()
"""


@contextmanager
def slow(cluster: Cluster) -> Iterator[None]:
    cluster.execute(PACED)
    try:
        yield
    finally:
        cluster.execute("DROP FUNCTION pace CASCADE")


def test_each_alert_of_the_service_fires_at_its_cause_and_stops_after(redis: Redis) -> None:
    """A minute of the rules is three seconds, in which a worker may ask the issuer once."""
    cache, cache_server = redis
    ports = free_port(), free_port()
    binds = [{"METRICS_BIND": f"127.0.0.1:{port}"} for port in ports]
    limit = {"THROTTLE_RATE": "100000/s", "CACHE_URL": cache}
    with (
        private_cluster() as cluster,
        running_issuer(public_jwk("RS256", kid="known")) as issuer,
        service(cluster.url(), **binds[0], **limit) as server,
        with_issuer(issuer.url, **binds[1]) as other,
        prometheus(shortened(3), "1s", ports, [server.port]) as watcher,
        traffic([server.caller() for _ in range(4)], mistakes=True),
    ):
        wait_until(lambda: watcher.ask("rate(cartsvc_requests_total[15s]) > 0"), 60)
        watcher.wait_until_firing()
        # New workers need the keys.
        issuer.raw = b"nonsense"
        other.process.send_signal(signal.SIGHUP)
        with stopped(cache_server.pid), slow(cluster):
            watcher.wait_until_firing("CartsvcIssuerUnreachable", "CartsvcSlow", "CartsvcUnlimited")
        issuer.raw = None
        watcher.wait_until_firing()
        cluster.stop()
        other.stop()
        watcher.wait_until_firing(
            "CartsvcDatabaseErrors",
            "CartsvcDown",
            "CartsvcErrors",
            "CartsvcNotReady",
            besides="CartsvcSlow",  # who waits for the database waits long
        )
        cluster.start()
        other.start()
        watcher.wait_until_firing()
        assert watcher.fired() == ALERTS - NOT_MADE
        shown = json.loads((ROOT / "cartsvc/deploy/dashboard.json").read_text())["panels"]
        queries = [target["expr"] for panel in shown for target in panel["targets"]]
        assert [query for query in queries if not watcher.ask(query.replace("5m", "1h"))] == [
            queries[-1]  # no alert is firing now
        ]
