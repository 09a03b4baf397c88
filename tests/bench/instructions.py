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
import os
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

from tests.bench import servers
from tests.bench.scenarios import replacements
from tests.support import bodies
from tests.support.clusters import private_cluster

RECORD = Path(__file__).with_suffix(".json")
# An answer of PostgreSQL comes in more or fewer pieces, by machine: 3 % of a large read.
TOLERANCE = 0.05
FEW, MORE = 4, 14
WARM_UP = 3

Counts = dict[str, int]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.instructions")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        run_inside(options.inside)
        return 0
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


def measure() -> Counts:
    with private_cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        servers.migrate(cluster, "service")
        variables = servers.environment(cluster, "service", PYTHONHASHSEED="0")
        # Everything takes fifty times as long under valgrind.
        variables |= {f"DB_{name}_TIMEOUT": "3600" for name in ("LOCK", "STATEMENT", "IDLE")}
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={folder}/%p"]
        subprocess.run(
            [*valgrind, sys.executable, "-m", "tests.bench.instructions", f"--inside={folder}"],
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


def run_inside(folder: Path) -> None:
    """Prepare, then fork a child for each scenario and number of requests. Runs under valgrind."""
    from django.db import connection  # noqa: PLC0415

    calls = prepare()
    connection.close()
    gc.collect()
    gc.freeze()
    pids = {
        name: [counted_child(call, times) for times in (FEW, MORE)] for name, call in calls.items()
    }
    Path(folder, "pids").write_text(json.dumps(pids))


def prepare() -> dict[str, Callable[[], bytes]]:
    profile = uuid.UUID(int=1)
    carts = f"/v2.0/customers/{profile}/carts"

    def made(items: int, options: int) -> str:
        body = bodies.cart(items=items, options=options)
        return f"{carts}/{json.loads(caller('POST', carts, body)())['data']['cartId']}"

    small, large = made(3, 2), made(50, 5)
    page = f"/v2.0/customers/{uuid.UUID(int=2)}/carts"
    for _ in range(20):
        caller("POST", page, bodies.cart(items=3, options=2))()
    item_id = json.loads(caller("GET", small)())["data"]["items"][0]["itemId"]
    item = f"{small}/items/{item_id}"
    return {
        "create empty": caller("POST", carts, bodies.cart(items=0)),
        "create 3x2": caller("POST", carts, bodies.cart(items=3, options=2)),
        "create 50x5": caller("POST", carts, bodies.cart(items=50, options=5)),
        "replace, 2 options": caller("PUT", item, *replacements(options=2)),
        "replace, 10 options": caller("PUT", item, *replacements(options=10)),
        "read 3x2": caller("GET", small),
        "read 50x5": caller("GET", large),
        "list 20": caller("GET", page),
    }


def caller(method: str, path: str, *sent: Any) -> Callable[[], bytes]:
    """Return a function that calls the application with a request and returns the answer.

    It sends these bodies in turn, so that no replacement meets its own options.
    """
    from cartsvc.wsgi import application  # noqa: PLC0415

    written = [json.dumps(body).encode() for body in sent] or [b""]
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": "application/json" if sent else "",
        "HTTP_HOST": "localhost",
        "HTTP_AUTHORIZATION": servers.bearer(os.environ["JWT_SIGNING_KEY"]),
        "HTTP_ACCEPT": "*/*",
        "HTTP_USER_AGENT": "bench",
    }
    setup_testing_defaults(environ)
    requests = itertools.cycle(
        [({**environ, "CONTENT_LENGTH": str(len(body) or "")}, body) for body in written]
    )

    def call() -> bytes:
        request, body = next(requests)
        status = []
        answer = application(
            {**request, "wsgi.input": io.BytesIO(body)}, lambda *head: status.append(head[0])
        )
        content = b"".join(answer)
        answer.close()
        if status != ["200 OK"]:
            raise RuntimeError(f"{status}: {content[:2000]!r}")
        return content

    return call


def counted_child(call: Callable[[], bytes], times: int) -> int:
    """Fork a process that makes this many calls, and return the process's id."""
    pid = os.fork()
    if pid == 0:
        try:
            for _ in range(WARM_UP + times):
                call()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if status:
        raise SystemExit("A counted child failed.")
    return pid


if __name__ == "__main__":
    sys.exit(main())
