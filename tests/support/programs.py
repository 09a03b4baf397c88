"""Other programs that tests run: find one, give it a free port, wait until it answers."""

import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Never

import pytest
import requests

ROOT = Path(__file__).resolve().parents[2]
POSTGRESQL = sorted(
    Path("/usr/lib/postgresql").glob("*/bin"), key=lambda home: float(home.parts[-2]), reverse=True
)
# How to run what refuses to run as root.
AS_POSTGRES: dict[str, Any] = (
    {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
)
FOLDERS = os.pathsep.join([*map(str, POSTGRESQL), os.environ.get("PATH", ""), "/usr/sbin"])


def missing(what: str) -> Never:
    """Skip the test because something is missing on this machine. In CI, fail instead."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing")


def copied(folder: Path) -> Path:
    """Copy the project, without its tests, to the folder. Return the folder."""
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("cartsvc", "carts"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    shutil.copy(ROOT / "manage.py", folder)
    return folder


def program(name: str) -> str:
    return shutil.which(name, path=FOLDERS) or missing(name)


def manage(
    *arguments: str,
    program: Sequence[str] = ("manage.py",),
    cwd: Path = ROOT,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command of the service with these variables and no others."""
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=cwd,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "cartsvc.settings",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )


# Below those of outgoing connections, one of which could take a port before its server does.
_ports = iter(random.Random(os.getpid()).sample(range(15_000, 32_000), 17_000))


def free_port() -> int:
    """Return a port that no other call in this process returns, and at which nothing listens."""
    for port in _ports:
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("", port))
            return port
    raise OSError("no port is free")


def accepts(port: int) -> bool:
    """Return whether a program listens at this port of loopback."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def is_ok(url: str, timeout: float = 60) -> bool:
    """Return whether something answers 200 at this address."""
    with suppress(requests.RequestException):
        return requests.get(url, timeout=timeout).ok
    return False


def printed(*command: object, **how: Any) -> str:
    """Run a program, which must succeed, and return what it prints."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=60, **how
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@contextmanager
def running(
    command: Sequence[object], until: Callable[[], Any] = lambda: True, **how: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, from when it is ready until the block ends."""
    process = subprocess.Popen(list(map(str, command)), **how)
    try:
        wait_until(until)
        yield process
    finally:
        process.terminate()
        process.wait(60)


def children(pid: int) -> list[int]:
    """Return the ids of a process's children, the oldest first."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def signal_all(number: int, *pids: int) -> None:
    """Send a signal to those of the processes that are still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_until(happened: Callable[[], Any], seconds: float = 60) -> float:
    """Wait until `happened()` is true, and fail after `seconds`. Return the seconds it took.

    It uses a clock that no test stops.
    """
    started = monotonic()
    while not happened():
        assert monotonic() - started < seconds, "it did not happen in time"
        sleep(0.02)
    return monotonic() - started
