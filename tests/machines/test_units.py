"""The shipped units of systemd."""

import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cartsvc.serving.server import GRACEFUL_TIMEOUT_SECONDS
from tests.support.programs import ROOT, program, running

UNITS = [
    "cartsvc@",
    "cartsvc-housekeeping",
    "cartsvc-backup",
    "cartsvc-nginx-reload",
    "cartsvc-postgresql-metrics",
    "patroni",
]


@pytest.mark.parametrize("name", UNITS)
def test_the_units_are_sound_and_the_service_may_do_little(name: str, tmp_path: Path) -> None:
    """A program that is here is in place of theirs."""
    for shipped in (ROOT / "cartsvc/deploy").glob("*.[st]*"):
        here = re.sub("(/srv/patroni|/usr)/bin/[a-z]+", sys.executable, shipped.read_text())
        (tmp_path / shipped.name.replace("@", "@1")).write_text(here)
    unit = tmp_path / f"{name.replace('@', '@1')}.service"
    asked = [["verify", unit, *tmp_path.glob(f"{name}.timer")]]
    if name in {"cartsvc@", "cartsvc-housekeeping"}:
        asked.append(["security", "--offline=true", "--threshold=20", "--no-pager", unit])
    for arguments in asked:
        command = [program("systemd-analyze"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("order", ["After", "Wants"])
def test_housekeeping_waits_for_the_time(order: str) -> None:
    unit = (ROOT / "cartsvc/deploy/cartsvc-housekeeping.service").read_text()
    assert re.search(f"^{order}=(.* )?time-sync.target$", unit, re.MULTILINE)
    assert "enable systemd-time-wait-sync" in (ROOT / "cartsvc/README.md").read_text()


@pytest.mark.parametrize("name", ["cartsvc-housekeeping.service", "compose.yml", "kubernetes.yml"])
def test_what_looks_at_the_clock_comes_first(name: str) -> None:
    """Once it refuses, nothing else is deleted by the clock either."""
    shipped = (ROOT / "cartsvc/deploy" / name).read_text()
    commands = re.findall(r"(?:manage\.py |args: \[)(purge_carts|clearsessions)", shipped)
    assert commands == ["purge_carts", "clearsessions"]


def test_journald_drops_no_line_of_a_busy_instance() -> None:
    """For the 30 s that journald counts: more than the requests that all its cores could serve."""
    unit = (ROOT / "cartsvc/deploy/cartsvc@.service").read_text()
    [burst] = re.findall(r"^LogRateLimitBurst=(\d+)$", unit, re.MULTILINE)
    assert int(burst) >= 30 * 10_000
    # systemd 252 takes 0 for the default.
    assert "LogRateLimitIntervalSec" not in unit


def test_what_the_unit_leaves_to_a_stop_and_nginx(tmp_path: Path) -> None:
    lines = (ROOT / "cartsvc/deploy/cartsvc@.service").read_text().splitlines()
    unit = dict(line.split("=", 1) for line in lines if re.match("[A-Z]", line))
    assert int(unit["TimeoutStopSec"]) >= 5 + GRACEFUL_TIMEOUT_SECONDS
    # nginx is in the unit's group, which may connect to a socket file.
    path = tmp_path / "socket"
    env = {"DATABASE_URL": f"sqlite:///{tmp_path}/x.sqlite3", "BIND": f"unix:{path}"}
    command = [sys.executable, "manage.py", "serve"]
    how: dict[str, Any] = {"umask": int(unit["UMask"], 8), "stdout": subprocess.DEVNULL}
    with running(command, path.exists, cwd=ROOT, env=env, **how):
        assert stat.S_IMODE(path.stat().st_mode) == 0o770
