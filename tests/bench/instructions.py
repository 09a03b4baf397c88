"""A gate that does not depend on load: the instructions of a request, counted by callgrind.

python -m tests.bench.instructions            compare with the record; fails at ±5 %
python -m tests.bench.instructions --update   measure, and write the record

The WSGI application is called in process, so PostgreSQL is not counted. One process starts
under valgrind and forks two children for each scenario. One child makes a few requests, the
other a few more. The difference between their counts is the cost of requests alone.

A gain fails the gate, too. If it were not recorded, it would hide the next loss. With another
interpreter or other packages, the figures cannot be compared: they are printed, and nothing fails.
"""

import argparse
import gc
import io
import itertools
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from django.db import connection
from django.test import RequestFactory

from tests.bench import servers
from tests.bench.scenarios import prepare
from tests.support.clusters import private_cluster
from tests.support.tokens import mint

RECORD = Path(__file__).with_suffix(".json")
# An answer of PostgreSQL comes in more or fewer pieces, by machine: 3 % of a large read.
TOLERANCE = 0.05
FEW, MORE = 4, 14
WARM_UP = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.instructions")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    counts, record = measure(), json.loads(RECORD.read_text())
    recorded = record["instructions"]
    # The record names the packages whose code runs in a request.
    packages = {name: version(name) for name in record["packages"]}
    found = {"python": sys.version, "packages": packages, "instructions": counts}
    for name, count in counts.items():
        print(f"{name:22}{count:>14,}{count / recorded.get(name, count) - 1:>+9.2%}")
    if options.update:
        RECORD.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return 0
    if {**found, "instructions": recorded} != record:
        print("Not compared: another interpreter or other packages than the record's.")
        return 0
    moved = [
        name
        for name in sorted(counts.keys() | recorded.keys())
        if abs(counts.get(name, 0) / recorded.get(name, 1) - 1) > TOLERANCE
    ]
    if moved:
        print(f"Moved by more than {TOLERANCE:.0%}: {', '.join(moved)}.")
        print("If that is meant: python -m tests.bench.instructions --update, in the same commit.")
    return bool(moved)


def measure() -> dict[str, int]:
    with private_cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        servers.migrate(cluster, "postgres")
        variables = servers.environment(cluster, "postgres", PYTHONHASHSEED="0")
        # Everything takes fifty times as long under valgrind.
        variables["DJANGO_SETTINGS_MODULE"] = "tests.support.long_timeouts"
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={folder}/%p"]
        program = f"from tests.bench import instructions; instructions.count({folder!r})"
        subprocess.run(
            [*valgrind, sys.executable, "-c", program],
            cwd=servers.ROOT,
            env=variables,
            stdout=subprocess.DEVNULL,  # the access log
            check=True,
        )
        pids: dict[str, list[int]] = json.loads(Path(folder, "pids").read_text())
        return {
            name: round((total(folder, more) - total(folder, few)) / (MORE - FEW))
            for name, (few, more) in pids.items()
        }


def total(folder: str, pid: int) -> int:
    found = re.search(r"^summary: (\d+)", Path(folder, str(pid)).read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def count(folder: str) -> None:
    """Prepare, then fork a child for each scenario and number of requests. Runs under valgrind."""

    def ask(*request: Any) -> Any:
        return json.loads(caller(*request)())["data"]

    calls = {}
    for name, requests in prepare(ask, customers=1, large=1).items():
        # Those of one path, so that each is replaced by another.
        method, path, _ = requests[0]
        calls[name] = caller(method, path, *(sent for _, one, sent in requests if one == path))
    connection.close()
    gc.collect()
    gc.freeze()
    pids = {
        name: [counted_child(call, times) for times in (FEW, MORE)] for name, call in calls.items()
    }
    Path(folder, "pids").write_text(json.dumps(pids))


def caller(method: str, path: str, *sent: Any) -> Callable[[], bytes]:
    """Return a function that calls the application with a request and returns the answer.

    It sends these bodies in turn, so that no replacement meets its own options.
    """
    from cartsvc.wsgi import application  # noqa: PLC0415

    headers = {"Host": "localhost", "Authorization": f"Bearer {mint()}", "Accept": "*/*"}
    written = [b"" if body is None else json.dumps(body).encode() for body in sent or [None]]
    environs = [
        RequestFactory(headers=headers).generic(method, path, body, "application/json").environ
        for body in written
    ]
    requests = itertools.cycle(zip(environs, written, strict=True))

    def call() -> bytes:
        environ, body = next(requests)
        status = []
        answer = application(
            {**environ, "wsgi.input": io.BytesIO(body)}, lambda *head: status.append(head[0])
        )
        content = b"".join(answer)
        answer.close()
        if status != ["200 OK"]:
            raise RuntimeError(f"{status}: {content[:2000]!r}")
        return content

    return call


def counted_child(call: Callable[[], bytes], times: int) -> int:
    """Fork a process that makes this many calls, and return the process's id."""

    def calls() -> None:
        for _ in range(WARM_UP + times):
            call()

    child = get_context("fork").Process(target=calls)
    child.start()
    child.join()
    if child.exitcode:
        raise SystemExit("A counted child failed.")
    return child.pid


if __name__ == "__main__":
    sys.exit(main())
