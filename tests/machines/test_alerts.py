"""The alert rules: each fires at its cause only, and stops after it.

promtool plays the rules with made-up series. In test_outages_call.py,
test_postgresql_calls.py and test_one_machine.py, faults make the series.
"""

import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from string import Template

import pytest
import requests
import yaml

from tests.machines.patroni_nodes import HOSTS, running_etcd, shipped
from tests.support.programs import ROOT, missing, printed, program

RULES = (ROOT / "cartsvc/deploy/alerts.yml").read_text()
ALERTS = set(re.findall(r"- alert: (\w+)", RULES))


def test_each_alert_fires_at_its_cause_and_at_nothing_else() -> None:
    cases = ROOT / "tests/machines/alerts.yml"
    faults = "".join(file.read_text() for file in cases.parent.glob("test_*_*.py"))
    played = re.findall('alertname="(\\w+)|"(Cartsvc\\w+)"', cases.read_text() + faults)
    assert {made_up or found for made_up, found in played} == ALERTS
    printed(program("promtool"), "test", "rules", cases)


def test_each_alert_leads_to_its_heading() -> None:
    page = (ROOT / "cartsvc/ALERTS.md").read_text()
    led = re.findall(
        r"alert: (\w+)(?:\n .*)+?\n +runbook_url: \S+/cartsvc/ALERTS.md#(\w+)\n", RULES
    )
    assert dict(led) == {alert: alert.lower() for alert in ALERTS}
    assert sorted(re.findall(r"^## (\w+)$", page, re.MULTILINE)) == sorted(ALERTS)


@pytest.mark.parametrize("name", ["prometheus.yml", "prometheus-three.yml"])
def test_prometheus_takes_what_is_shipped(name: str, tmp_path: Path) -> None:
    nodes = {f"NODE_{number}": host for number, host in enumerate(HOSTS, start=1)}
    filled = Template((ROOT / "cartsvc/deploy" / name).read_text()).substitute(nodes)
    (tmp_path / "prometheus.yml").write_text(filled)
    (tmp_path / "alerts.yml").write_text(RULES)
    printed(program("promtool"), "check", "config", tmp_path / "prometheus.yml")


def test_three_machines_tell_what_the_rules_ask_for(tmp_path: Path) -> None:
    """Patroni by its source, as it is not run here."""
    if not find_spec("patroni"):
        missing("patroni")
    told = inspect.getsource(import_module("patroni.api"))
    with running_etcd(tmp_path) as etcd:
        told += requests.get(f"http://{etcd}/metrics", timeout=9).text
    asked = set(re.findall(r"\b((?:patroni|etcd)_\w+)", RULES))
    assert {name for name in asked if name not in told} == set()
    three = yaml.safe_load((ROOT / "cartsvc/deploy/prometheus-three.yml").read_text())
    ports = {
        job["job_name"]: {target[-4:] for target in job["static_configs"][0]["targets"]}
        for job in three["scrape_configs"]
    }
    metrics = shipped("etcd.env", {}, N=1, ME=HOSTS[0])["ETCD_LISTEN_METRICS_URLS"]
    api = shipped("patroni.env", {}, N=1, ME=HOSTS[0])["PATRONI_RESTAPI_LISTEN"]
    assert (ports["etcd"], ports["patroni"]) == ({metrics[-4:]}, {api[-4:]})


def test_ctl_is_patroni_s_own(tmp_path: Path) -> None:
    (tmp_path / "patroni.env").write_text("PATRONI_NAME=node1\n")
    (tmp_path / "patronictl").write_text('#!/bin/sh\nprintf "%s|" "$PATRONI_NAME" "$@"\n')
    (tmp_path / "patronictl").chmod(0o755)
    script = (ROOT / "cartsvc/deploy/cartsvc-patronictl").read_text()
    script = script.replace("/etc", str(tmp_path)).replace("/srv/patroni/bin", str(tmp_path))
    told = printed("sh", "-euc", script, "cartsvc-patronictl", "list", "a b")
    assert told == "node1|-c|/srv/cartsvc/cartsvc/deploy/patroni.yml|list|a b|"


def test_the_operators_page_has_prometheus_listen_on_loopback_alone(tmp_path: Path) -> None:
    """Each program where prometheus.yml looks for it."""
    page = (ROOT / "cartsvc/README.md").read_text().partition("## Metrics\n")[2]
    section = page.partition("\n## ")[0]
    lines = re.findall(r"^at.*$", section, re.MULTILINE)
    script = "\n".join(lines).replace("/etc/default", str(tmp_path))
    printed("bash", "-euc", script)
    files = [file.read_text() for file in tmp_path.iterdir()]
    told = re.findall(r"^ARGS='--web.listen-address=(127.0.0.1:\d+) ", "".join(files), re.MULTILINE)
    configuration = (ROOT / "cartsvc/deploy/prometheus.yml").read_text()
    assert len(told) == len(files) == 4
    assert [each for each in told if each not in configuration] == ["127.0.0.1:9090"]
    (installed,) = re.findall(r"apt-get install -y --no-install-recommends (.*)", section)
    expanded = printed("bash", "-c", f"echo {installed}").split()
    assert sorted(expanded) == sorted(["mtail", *(file.name for file in tmp_path.iterdir())])
    assert "HOST=127.0.0.1 LOGS=" in section
    assert '["127.0.0.1:3903"]' in configuration  # the port of Debian's unit
