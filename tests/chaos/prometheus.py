"""A real Prometheus with the shipped alert rules, and the exporters that the rules read."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import requests

from tests.chaos.servers import ROOT
from tests.support.programs import accepts, free_port, missing, program, running, wait_until

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
    rules: str,
    step: str,
    *,
    metrics: Sequence[int] = (),
    ready: Sequence[int] = (),
    node: Sequence[int] = (),
) -> Iterator[Prometheus]:
    """Run Prometheus with these rules, which scrapes these ports each `step`, such as `15s`.

    `metrics` are those of METRICS_BIND, `node` those of exporters. Of the `ready` ones, another
    exporter asks /readyz.
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
        # Other disks are not the test's.
        own_disk = {"source_labels": ["mountpoint"], "regex": "(.*/disk)?", "action": "keep"}
        every = {"scrape_interval": step, "scrape_timeout": step, "evaluation_interval": step}
        jobs = [
            job("cartsvc", metrics),
            {**job("cartsvc-ready", ready, "http://127.0.0.1:{}/readyz"), **probe},
            {**job("node", node), "metric_relabel_configs": [own_disk]},
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


DISK = 16 << 20  # bytes
HOUSEKEEPING = """\
[Service]
Type=oneshot
ExecStart=/bin/sh -c '! test -e {folder}/fails'
"""
INSTANCE = "[Service]\nExecStart=/bin/sleep infinity\n"
# A tmpfs at /run, so that this systemd takes the machine for one that it has started.
BOOT = """\
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
mount -o loop "$1/image" "$1/disk"
exec "$2" --user --unit=basic.target
"""


class Machine:
    """A systemd with the shipped timer, and a disk of some megabytes, in a namespace of its own.

    Stand-ins are in place of the services. The housekeeping happens every six seconds, and fails
    while there is the file `fails`.
    """

    def __init__(self, folder: Path, pid: int) -> None:
        self.folder, self.port = folder, free_port()
        self.fails = folder / "fails"
        self.filler = Path(f"/proc/{pid}/root/{folder}/disk/filler")
        self.enter = [program("nsenter"), "-t", str(pid), "-m"]

    def systemctl(self, *arguments: str) -> str:
        command = [*self.enter, program("systemctl"), "--user", *arguments]
        done = subprocess.run(
            command, env=environment(self.folder), capture_output=True, text=True, timeout=60
        )
        return done.stdout + done.stderr

    def fill_disk(self) -> None:
        with suppress(OSError), self.filler.open("wb") as filler:
            filler.write(bytes(DISK))


def environment(folder: Path) -> dict[str, str]:
    """Return the variables that make this folder and /run those of the machine's systemd."""
    paths = {"XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    return {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": "/run", **paths}


@contextmanager
def machine() -> Iterator[Machine]:
    """Run a machine, and the exporter of what it says."""
    if os.geteuid() != 0:
        missing("root, who can mount a disk")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cartsvc-")))
        units = folder / "systemd/user"
        units.mkdir(parents=True)
        timer = (ROOT / "cartsvc/deploy/cartsvc-housekeeping.timer").read_text()
        timer = timer.replace("=hourly", "=*:*:0/6\nAccuracySec=1ms").replace("=10min", "=1s")
        (units / "cartsvc-housekeeping.timer").write_text(timer)
        (units / "cartsvc-housekeeping.service").write_text(HOUSEKEEPING.format(folder=folder))
        (units / "cartsvc@.service").write_text(INSTANCE)
        (folder / "disk").mkdir()
        with (folder / "image").open("wb") as image:
            image.truncate(DISK)
        subprocess.run([program("mke2fs"), "-q", folder / "image"], check=True)
        boot = [program("unshare"), "--mount", "sh", "-euc", BOOT, "sh", folder, program("systemd")]
        systemd = stack.enter_context(running(boot, env=environment(folder), **QUIET))
        made = Machine(folder, systemd.pid)
        wait_until(lambda: made.systemctl("is-system-running") == "running\n", 60)
        made.systemctl("start", "cartsvc-housekeeping.timer", "cartsvc@1.service")
        # The exporter shows the disks of process 1.
        (folder / "proc").mkdir()
        (folder / "proc/1").symlink_to(f"/proc/{systemd.pid}")
        exporter = [
            *made.enter,
            program("prometheus-node-exporter"),
            f"--web.listen-address=127.0.0.1:{made.port}",
            *("--collector.disable-defaults", "--collector.filesystem", "--collector.systemd"),
            f"--path.procfs={folder}/proc",
            "--collector.systemd.private",  # this systemd has no bus
        ]
        stack.enter_context(running(exporter, lambda: accepts(made.port), **QUIET))
        yield made
