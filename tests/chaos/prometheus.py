"""A real Prometheus with the shipped alert rules, and the exporter that asks /readyz."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.chaos.servers import ROOT
from tests.support.programs import accepts, free_port, program, running, wait_until

RULES = ROOT / "cartsvc/deploy/alerts.yml"
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
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cartsvc-")))
        blackbox, own = free_port(), free_port()
        probe = {
            "metrics_path": "/probe",
            "params": {"module": ["ready"]},
            "relabel_configs": [
                {"source_labels": ["__address__"], "target_label": "__param_target"},
                {"source_labels": ["__address__"], "target_label": "instance"},
                {"target_label": "__address__", "replacement": f"127.0.0.1:{blackbox}"},
            ],
        }
        every = {"scrape_interval": step, "scrape_timeout": step, "evaluation_interval": step}
        jobs = [
            job("cartsvc", metrics),
            {**job("cartsvc-ready", ready, "http://127.0.0.1:{}/readyz"), **probe},
        ]
        config = {"global": every, "rule_files": ["rules.yml"], "scrape_configs": jobs}
        modules = {"modules": {"ready": {"prober": "http"}}}
        (folder / "rules.yml").write_text(rules)
        (folder / "config.yml").write_text(json.dumps(config))
        (folder / "blackbox.yml").write_text(json.dumps(modules))
        exporter = [
            program("prometheus-blackbox-exporter"),
            f"--config.file={folder}/blackbox.yml",
            f"--web.listen-address=127.0.0.1:{blackbox}",
            "--timeout-offset=0",
        ]
        watcher = [
            program("prometheus"),
            f"--config.file={folder}/config.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{own}",
        ]
        url = f"http://127.0.0.1:{own}"

        def is_ready() -> bool:
            return accepts(own) and requests.get(f"{url}/-/ready", timeout=60).ok

        stack.enter_context(running(exporter, lambda: accepts(blackbox), **QUIET))
        stack.enter_context(running(watcher, is_ready, **QUIET))
        yield Prometheus(url)


def job(name: str, ports: Sequence[int], address: str = "127.0.0.1:{}") -> dict[str, Any]:
    targets = [address.format(port) for port in ports]
    return {"job_name": name, "static_configs": [{"targets": targets}]}
