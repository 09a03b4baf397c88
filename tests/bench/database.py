"""What PostgreSQL spends on an operation: its CPU time, and its WAL for a replacement.

python -m tests.bench.database

The application runs in this process, on a private cluster without autovacuum. So one backend
does all of the work, and its CPU time does not depend on who else uses the computer.
"""

import itertools
import json
import logging
import os
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import django

from tests.bench import processes, scenarios, servers
from tests.bench.instructions import caller
from tests.support import bodies
from tests.support.clusters import Cluster, private_cluster

REPLACEMENTS = 2_000
LARGEST = {"items": 200, "options": 5}
WARM_UP = 20

Call = Callable[[], Any]


def made(profile: uuid.UUID, **size: int) -> str:
    """Create a cart and return its path."""
    carts = carts_of(profile)
    cart = json.loads(caller("POST", carts, bodies.cart(**size))())
    return f"{carts}/{cart['data']['cartId']}"


def carts_of(profile: uuid.UUID) -> str:
    return f"/v2.0/customers/{profile}/carts"


def replacements(carts: int) -> Iterator[Call]:
    """Yield replacements of an item in each cart, over and over. Its options always change."""
    paths = [made(uuid.uuid4(), items=3, options=2) for _ in range(carts)]
    items = [json.loads(caller("GET", path)())["data"]["items"][0]["itemId"] for path in paths]
    alternatives = scenarios.replacements(options=2)
    for turn in itertools.count():
        item = alternatives[turn % 2]
        for path, item_id in zip(paths, items, strict=True):
            yield caller("PUT", f"{path}/items/{item_id}", item)


def microseconds(calls: Iterator[Call], times: int, backend: int) -> float:
    for call in itertools.islice(calls, WARM_UP):
        call()
    prepared = list(itertools.islice(calls, times))
    before = processes.cpu_seconds(backend)
    for call in prepared:
        call()
    return 1e6 * (processes.cpu_seconds(backend) - before) / times


def wal_bytes(cluster: Cluster, carts: int) -> float:
    calls = list(itertools.islice(replacements(carts), REPLACEMENTS))
    cluster.execute("CHECKPOINT")
    [(before,)] = cluster.execute("SELECT pg_current_wal_insert_lsn()::text")
    for call in calls:
        call()
    [(written,)] = cluster.execute(f"SELECT pg_current_wal_insert_lsn() - '{before}'")
    return float(written) / REPLACEMENTS


def main(cluster: Cluster) -> None:
    from django.db import connection  # noqa: PLC0415 (Django is set up by now)

    profile, large = uuid.uuid4(), partial(made, uuid.uuid4())
    carts = carts_of(profile)
    small, *_ = [made(profile, items=3, options=2) for _ in range(20)]
    backend = connection.connection.info.backend_pid
    create = {
        (n, m): caller("POST", carts_of(uuid.uuid4()), bodies.cart(items=n, options=m))
        for n, m in [(3, 2), (50, 5)]
    }
    measured: dict[str, tuple[Iterator[Call], int]] = {
        "create 3x2": (itertools.repeat(create[3, 2]), 1000),
        "create 50x5": (itertools.repeat(create[50, 5]), 200),
        "replace, 2 options": (replacements(200), 1000),
        "read 3x2": (itertools.repeat(caller("GET", small)), 2000),
        "read 50x5": (itertools.repeat(caller("GET", large(items=50, options=5))), 500),
        "read 200x5": (itertools.repeat(caller("GET", large(**LARGEST))), 200),
        "list 20": (itertools.repeat(caller("GET", carts)), 2000),
    }
    print("| PostgreSQL's CPU time | µs |\n|---|---:|")
    for name, (calls, times) in measured.items():
        print(f"| {name} | {microseconds(calls, times, backend):.0f} |", flush=True)
    print("\n| WAL of a replacement | bytes |\n|---|---:|")
    for many in 1, 20, REPLACEMENTS:
        print(f"| on {many:,} carts in turn | {wal_bytes(cluster, many):,.0f} |", flush=True)


if __name__ == "__main__":
    with private_cluster(autovacuum="off") as cluster:
        servers.migrate(cluster, "service")
        os.environ |= servers.environment(cluster, "service")
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
        django.setup()
        logging.disable()
        main(cluster)
