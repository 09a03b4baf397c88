"""Scrapes of real servers, which promtool plays against the shipped rules.

A scrape stands for the 15 seconds between two of the shipped prometheus.yml, however little time
was between them here. So each alert waits as long as its rule says, and the test does not.
"""

import json
import re
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import requests

from tests.support.programs import ROOT, program

RULES = ROOT / "cartsvc/deploy/alerts.yml"
SECONDS = 15
UNITS = {"h": 3600, "m": 60, "s": 1}
FIVE_MINUTES = 5 * 60 // SECONDS
# The alert that always fires says that nothing is wrong.
FIRING = 'ALERTS{alertstate="firing", alertname!="CartsvcWatchdog"}'

COUNTERS = r"cartsvc_\w+_(total|bucket|count|sum)\{"
TOLD = r"^((?:cartsvc|nginx|probe|postgresql)_\w+)(?:\{(.*)\})? (\S+)$"


def answer(url: str) -> str:
    with suppress(requests.ConnectionError):
        return requests.get(url, timeout=60).text
    return ""


class Scrapes:
    """What Prometheus would know. `jobs` say of each instance where to ask, or whom."""

    def __init__(self, **jobs: dict[str, str | Callable[[], str]]) -> None:
        self.jobs = jobs
        self.taken = 0
        self.began = time.time()
        self.series: dict[str, list[str]] = defaultdict(list)

    def take(self, number: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Take so many scrapes, and do something before each.

        A worker tells its counts each second, which would be most of the scrapes here. So what the
        service's own rise by meanwhile is spread over all of them.
        """
        first, end = self.taken, self.taken + number
        while self.taken < end:
            meanwhile()
            if "cartsvc" in self.jobs and self.taken == end - 1:
                time.sleep(1.5)
            for job, targets in self.jobs.items():
                for instance, source in targets.items():
                    text = source() if callable(source) else answer(source)
                    self._keep(f'job="{job.replace("_", "-")}",instance="{instance}"', text)
            self.taken += 1
        for name, values in self.series.items():
            if re.match(COUNTERS, name) and len(values) == end:
                low = float(values[first].replace("_", "0"))
                step = (float(values[-1]) - low) / max(1, number - 1)
                values[first + 1 :] = [str(low + step * n) for n in range(1, number)]

    def _keep(self, target: str, text: str) -> None:
        told = re.findall(TOLD, text, re.MULTILINE)
        for name, labels, value in [("up", "", str(int(bool(text)))), *told]:
            origin = self.began if name.endswith("_expiry") else 0  # promtool's clock begins at 0
            values = self.series[f"{name}{{{','.join(filter(None, (target, labels)))}}}"]
            values += ["_"] * (self.taken - len(values)) + [str(float(value) - origin)]

    def fired(self, since: int = 0) -> dict[str, int]:
        """Return the alerts, and when each has fired first: seconds after this scrape."""
        times = range(0, self.taken * SECONDS, SECONDS)
        played = {
            "rule_files": [str(RULES)],
            "evaluation_interval": f"{SECONDS}s",
            "tests": [
                {
                    "interval": f"{SECONDS}s",
                    "input_series": [
                        {"series": name, "values": " ".join(values)}
                        for name, values in self.series.items()
                    ],
                    "promql_expr_test": [
                        {"expr": f"count by (alertname) ({FIRING})", "eval_time": f"{time}s"}
                        for time in times
                    ],
                }
            ],
        }
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "played.yml")
            file.write_text(json.dumps(played))
            command = [program("promtool"), "test", "rules", file]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        # It expects no alert, and names those that it got.
        found: dict[str, int] = {}
        for time_, got in re.findall(
            r"time: (\w+),\s+exp:.*\s+got:(.*)", done.stdout + done.stderr
        ):
            seconds = sum(int(n) * UNITS[unit] for n, unit in re.findall(r"(\d+)([hms])", time_))
            for alert in re.findall(r'alertname="(\w+)"', got):
                found.setdefault(alert, seconds - since * SECONDS)
        assert done.returncode == bool(found), done.stdout + done.stderr
        print(f"\n{found}")
        return found
