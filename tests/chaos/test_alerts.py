"""The alert rules: each fires at its cause only, and stops after it.

promtool plays the rules with made-up series. The service counts what they ask for. In
test_outages_call.py, test_postgresql_calls.py and test_one_machine.py, faults make the series.
"""

import re
import subprocess

from tests.chaos.servers import ROOT, scrape, service, with_issuer
from tests.support.programs import free_port, program

RULES = (ROOT / "cartsvc/deploy/alerts.yml").read_text()
SERIES = re.findall(r"(cartsvc_\w+)(?:\{(server=.*?)\})?", RULES)
ALERTS = set(re.findall(r"- alert: (\w+)", RULES))


def test_each_alert_fires_at_its_cause_and_at_nothing_else() -> None:
    cases = ROOT / "tests/chaos/alerts.yml"
    faults = "".join(file.read_text() for file in cases.parent.glob("test_*_*.py"))
    played = re.findall('alertname="(\\w+)|"(Cartsvc\\w+)"', cases.read_text() + faults)
    assert {made_up or found for made_up, found in played} == ALERTS
    command = [program("promtool"), "test", "rules", cases]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_leads_to_its_heading() -> None:
    page = (ROOT / "cartsvc/ALERTS.md").read_text()
    led = re.findall(
        r"alert: (\w+)(?:\n .*)+?\n +runbook_url: \S+/cartsvc/ALERTS.md#(\w+)\n", RULES
    )
    assert dict(led) == {alert: alert.lower() for alert in ALERTS}
    assert sorted(re.findall(r"^## (\w+)$", page, re.MULTILINE)) == sorted(ALERTS)


def test_the_service_counts_what_the_rules_ask_for() -> None:
    """Of its own requests, and of an issuer and a cache that are not there."""
    nowhere = f"127.0.0.1:{free_port()}"
    binds = [{"METRICS_BIND": f"127.0.0.1:{free_port()}"} for _ in range(2)]
    cache = {"THROTTLE_RATE": "9/s", "CACHE_URL": f"redis://{nowhere}/0"}
    with service(**binds[0], **cache) as one, with_issuer(f"http://{nowhere}", **binds[1]) as two:
        answers = [server.caller().get().status_code for server in (one, two)]
        assert answers == [200, 503]
        counted = {name: value for server in (one, two) for name, value in scrape(server).items()}
    for name, labels in SERIES:
        found = [value for key, value in counted.items() if key.startswith(name) and labels in key]
        assert found, name
        assert not labels or found[0] >= 1, labels
    assert 'cartsvc_requests_total{operation="List Carts",status="503"}' in counted
