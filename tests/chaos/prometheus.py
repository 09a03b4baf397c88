"""A real Prometheus with the shipped alert rules, and the exporter that asks /readyz."""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import requests
import yaml

from tests.chaos.servers import ROOT
from tests.support.programs import free_port, is_ok, program, running, wait_until

RULES = ROOT / "cartsvc/deploy/alerts.yml"
CONFIG = (ROOT / "cartsvc/deploy/prometheus.yml").read_text()
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def shortened(minute: float) -> str:
    """Return the rules with a minute of so many seconds: each range, each `for`, each hour."""
    text = re.sub(
        r"\b(\d+)m\b", lambda found: f"{int(found[1]) * minute * 1000:.0f}ms", RULES.read_text()
    )
    return text.replace("* 3600", f"* {60 * minute:g}")


class Prometheus:
    """One that runs at this address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, query: str) -> list[dict[str, str]]:
        """Return the labels of each series that the query finds now."""
        answer = requests.get(f"{self.url}/api/v1/query", {"query": query}, timeout=60).json()
        return [each["metric"] for each in answer["data"]["result"]]

    def firing(self) -> set[str]:
        return {each["alertname"] for each in self.ask('ALERTS{alertstate="firing"}')}

    def fired(self) -> set[str]:
        """Return what fires or has fired since it runs."""
        found = self.ask('max_over_time(ALERTS{alertstate="firing"}[1d])')
        return {each["alertname"] for each in found}

    def wait_until_firing(self, *alerts: str, besides: str = "") -> None:
        """Wait until these fire and no others. It does not count whether `besides` does."""
        try:
            wait_until(lambda: self.firing() - {besides} == set(alerts), 180)
        except AssertionError as error:
            raise AssertionError(f"{self.firing()} fire, not {alerts}") from error


@contextmanager
def prometheus(
    rules: str, step: str, metrics: Sequence[int], ready: Sequence[int]
) -> Iterator[Prometheus]:
    """Run Prometheus with these rules, which scrapes these ports each `step`, such as `15s`.

    `metrics` are those of METRICS_BIND. Of the `ready` ones, an exporter asks /readyz.
    """
    own, exporter = (f"127.0.0.1:{free_port()}" for _ in range(2))
    config = yaml.safe_load(CONFIG)
    config["global"] = {
        "scrape_interval": step,
        "scrape_timeout": step,
        "evaluation_interval": step,
    }
    _, counts, probes, _ = config["scrape_configs"]  # not the machine and nginx
    config["scrape_configs"] = [counts, probes]
    counts["static_configs"] = [{"targets": [f"127.0.0.1:{port}" for port in metrics]}]
    probes["static_configs"] = [{"targets": [f"http://127.0.0.1:{port}/readyz" for port in ready]}]
    probes["relabel_configs"][-1]["replacement"] = exporter
    del config["alerting"]
    with tempfile.TemporaryDirectory(prefix="cartsvc-") as folder:
        Path(folder, "alerts.yml").write_text(rules)
        Path(folder, "config.yml").write_text(yaml.safe_dump(config))
        Path(folder, "blackbox.yml").write_text("modules: {http_2xx: {prober: http}}")
        asking = [
            program("prometheus-blackbox-exporter"),
            f"--config.file={folder}/blackbox.yml",
            f"--web.listen-address={exporter}",
            "--timeout-offset=0",
        ]
        watching = [
            program("prometheus"),
            f"--config.file={folder}/config.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={own}",
        ]
        with (
            running(asking, **QUIET),
            running(watching, lambda: is_ok(f"http://{own}/-/ready"), **QUIET),
        ):
            yield Prometheus(f"http://{own}")
