"""What PostgreSQL spends on an operation: its CPU time, and its WAL for a replacement.

python -m tests.bench.database

The application runs in this process, on a private cluster without autovacuum, so one backend
does all of the work. Its CPU time depends little on who else uses the computer.
"""

import itertools
import json
import logging
import os
import uuid
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from typing import Any

import django

from tests.bench import processes, scenarios, servers
from tests.bench.instructions import caller
from tests.support import bodies
from tests.support.clusters import private_cluster

REPLACEMENTS = 2_000
TIMES, WARM_UP = 500, 20


def made(profile: uuid.UUID, items: int, options: int) -> str:
    """Create a cart and return its path."""
    path, body = scenarios.carts_path(profile), bodies.cart(items=items, options=options)
    return f"{path}/{json.loads(caller('POST', path, body)())['data']['cartId']}"


def replacements(carts: int) -> Iterator[Callable[[], bytes]]:
    """Yield replacements of an item in each cart, over and over. Its options always change."""
    paths = [made(uuid.uuid4(), 3, 2) for _ in range(carts)]
    items = [json.loads(caller("GET", path)())["data"]["items"][0]["itemId"] for path in paths]
    for item in itertools.cycle(scenarios.replacements(options=2)):
        for path, item_id in zip(paths, items, strict=True):
            yield caller("PUT", f"{path}/items/{item_id}", item)


def main(execute: Callable[..., Any]) -> None:
    profile = uuid.uuid4()
    paths = {size: made(profile, *size) for size in [(3, 2), (50, 5), (200, 5)] + [(3, 2)] * 17}
    carts = scenarios.carts_path(profile)
    measured = {"replace, 2 options": replacements(200), "list 20": repeat(caller("GET", carts))}
    for (items, options), path in paths.items():
        body = bodies.cart(items=items, options=options)
        other = scenarios.carts_path(uuid.uuid4())
        measured[f"create {items}x{options}"] = repeat(caller("POST", other, body))
        measured[f"read {items}x{options}"] = repeat(caller("GET", path))
    [(backend,)] = execute("SELECT pid FROM pg_stat_activity WHERE datname = 'service'")
    print("| PostgreSQL | |\n|---|---:|")
    for name, calls in measured.items():
        execute("ANALYZE", "service")
        [call() for call in islice(calls, WARM_UP)]
        prepared, before = list(islice(calls, TIMES)), processes.cpu_seconds(backend)
        [call() for call in prepared]
        spent = (processes.cpu_seconds(backend) - before) / TIMES
        print(f"| {name}, CPU | {1e6 * spent:.0f} µs |", flush=True)
    for many in 1, REPLACEMENTS:
        prepared = list(islice(replacements(many), REPLACEMENTS))
        execute("CHECKPOINT")
        [(before,)] = execute("SELECT pg_current_wal_insert_lsn()::text")
        [call() for call in prepared]
        [(written,)] = execute(f"SELECT pg_current_wal_insert_lsn() - '{before}'")
        print(f"| replace on {many:,} carts in turn, WAL | {written / REPLACEMENTS:,.0f} bytes |")


if __name__ == "__main__":
    with private_cluster(autovacuum="off") as cluster:
        servers.migrate(cluster, "service")
        os.environ |= servers.environment(cluster, "service")
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")
        django.setup()
        logging.disable()
        main(cluster.execute)
