"""Whom the shipped alertmanager.yml tells of an alert: the mail arrives, and the watchdog calls."""

import json
import re
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import Template
from typing import Any

import requests

from tests.machines import mailbox
from tests.machines.booted_machines import blocks
from tests.support.certificates import make_certificate
from tests.support.programs import (
    ROOT,
    accepts,
    free_port,
    is_ok,
    printed,
    program,
    running,
    wait_until,
)

[WATCH] = blocks((ROOT / "cartsvc/README.md").read_text(), "Metrics")
[EXPORT] = re.findall(r"^export ((?:.*\\\n)*.*)", WATCH, re.MULTILINE)
NAMES = dict(pair.split("=", 1) for pair in shlex.split(EXPORT.replace("\\\n", "")))
[TRY] = re.findall(r"^ *(amtool alert add .*)$", WATCH, re.MULTILINE)
RULES = (ROOT / "cartsvc/deploy/alerts.yml").read_text()
SHIPPED = (ROOT / "cartsvc/deploy/alertmanager.yml").read_text()


def filled(folder: Path, **own: str) -> Path:
    """Write the file with the page's names, or these in their place."""
    file = folder / "alertmanager.yml"
    file.write_text(Template(SHIPPED).substitute(NAMES | own))
    return file


def test_the_page_names_all_that_the_file_asks_for(tmp_path: Path) -> None:
    assert set(re.findall(r"\$(\w+)", SHIPPED)) == NAMES.keys()
    printed(program("amtool"), "check-config", filled(tmp_path))


@contextmanager
def alertmanager(folder: Path) -> Iterator[int]:
    """Run Debian's with the shipped file and the stand-ins, and yield its port."""
    make_certificate(folder, "localhost")
    port, mails, calls = free_port(), free_port(), free_port()
    own = {"MAIL_SERVER": f"localhost:{mails}", "WATCHDOG": f"http://127.0.0.1:{calls}/check"}
    secrets = [folder / "certificate.pem", folder / "key.pem"]
    stand_ins = [sys.executable, mailbox.__file__, folder, *secrets, mails, calls]
    command = [
        program("prometheus-alertmanager"),
        f"--config.file={filled(folder, **own, TICKETS='tickets@example.com')}",
        f"--storage.path={folder}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
        "--log.level=warn",
    ]
    with (
        running(stand_ins, lambda: accepts(mails) and accepts(calls)),
        running(
            command,
            lambda: is_ok(f"http://127.0.0.1:{port}/-/ready"),
            env={"SSL_CERT_FILE": str(secrets[0])},
        ),
    ):
        yield port


def kept(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_an_alert_is_mailed_and_the_watchdog_calls_each_minute(tmp_path: Path) -> None:
    """That the watchdog has ended calls nobody: it would be taken for a sign of life."""
    program("amtool")
    with alertmanager(tmp_path) as port:
        began = time.monotonic()
        tried = TRY.replace("9093", str(port))
        # By its end, as Prometheus gives one, it has called twice.
        end = (datetime.now(UTC) + timedelta(seconds=75)).isoformat(timespec="seconds")
        for alert in ("Later severity=ticket", f"CartsvcWatchdog severity=none --end={end}"):
            printed("sh", "-euc", tried.replace("Try severity=page", alert))
        printed("sh", "-euc", tried)
        mails, calls = tmp_path / "mails", tmp_path / "calls"
        wait_until(lambda: len(kept(mails)) == 2, 45)
        print(f"\nmailed after {time.monotonic() - began:.0f} s")
        wait_until(lambda: len(kept(calls)) == 2, 90)
        time.sleep(max(0, began + 95 - time.monotonic()))
        [asked] = re.findall(r"alertmanager_\w+\{.*?\}", RULES)
        assert f"{asked} 0\n" in requests.get(f"http://127.0.0.1:{port}/metrics", timeout=9).text
    first, second = kept(calls)
    assert (first["path"], first["status"], second["status"]) == ("/check", "firing", "firing")
    assert 50 < second["at"] - first["at"] < 90
    login = [NAMES["MAIL_USER"], NAMES["MAIL_PASSWORD"]]
    told = {
        (mail["to"][0], re.search("Subject: (.*)", mail["text"])[1])
        for mail in kept(mails)
        if mail["login"] == login
    }
    assert told == {
        (f"RCPT TO:<{NAMES['WAKE']}>", "[FIRING:1] Try (page)"),
        ("RCPT TO:<tickets@example.com>", "[FIRING:1] Later (ticket)"),
    }
