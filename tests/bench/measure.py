"""The benchmark's runs. Each round measures every server, in a new order."""

import argparse
import statistics
from collections.abc import Callable, Iterable
from typing import Any

from tests.bench import client, processes, scenarios, servers
from tests.bench.client import Sample
from tests.bench.servers import Server
from tests.support import bodies
from tests.support.clusters import Cluster, private_cluster

WARM_UP = 0.3
CONCURRENCIES = (1, 2, 4, 8, 16, 32, 64)


def seconds(limit: float) -> Callable[[Sample, float], bool]:
    return lambda _, elapsed: elapsed < limit


def rivals(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the service, the floor, the tutorial, FastAPI, and the service again."""
    chosen = options.only or scenarios.NAMES
    with private_cluster(max_connections=300) as cluster, servers.all_of_them(cluster) as running:
        for server in running:
            scenarios.verify(server)
        prepared = {
            (name, server.name): requests
            for server in running
            for name, requests in scenarios.prepare(server, chosen).items()
        }
        cells: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in prepared}
        for turn in range(options.rounds):
            shift = turn % len(running)
            for name in chosen:
                for server in running[shift:] + running[:shift]:
                    cell = measure(cluster, server, prepared[name, server.name], options)
                    cells[name, server.name].append(cell)
            print(f"round {turn + 1} of {options.rounds}", flush=True)
    return {
        "scenarios": {
            name: {server.name: summary(cells[name, server.name]) for server in running}
            for name in chosen
        }
    }


def sent(sample: Sample) -> int:
    return len(sample.latencies)


def measure(
    cluster: Cluster, server: Server, requests: Iterable[bytes], options: argparse.Namespace
) -> dict[str, Any]:
    load = {"requests": requests, "concurrency": options.concurrency}
    client.run(server.port, **load, more=seconds(WARM_UP))
    before = processes.cpu_seconds(server.pid), processes.cpu_seconds(cluster.pid)
    sample = client.run(server.port, **load, more=seconds(options.seconds))
    after = processes.cpu_seconds(server.pid), processes.cpu_seconds(cluster.pid)
    return {
        "rate": sample.rate,
        "latencies": sample.latencies,
        "server": (after[0] - before[0]) / sent(sample),
        "postgres": (after[1] - before[1]) / sent(sample),
    }


def summary(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the medians over the rounds. Times are in milliseconds."""
    rates = [cell["rate"] for cell in cells]
    latencies = sorted(latency for cell in cells for latency in cell["latencies"])
    return {
        "rate": statistics.median(rates),
        "rates": rates,
        "lowest": min(rates),
        "highest": max(rates),
        "p50": 1000 * latencies[len(latencies) // 2],
        "p99": 1000 * latencies[len(latencies) * 99 // 100],
        "server": 1000 * statistics.median(cell["server"] for cell in cells),
        "postgres": 1000 * statistics.median(cell["postgres"] for cell in cells),
    }


def growth(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the service alone, with growing numbers of carts and of callers."""
    sizes: dict[int, Any] = {}
    for size in options.growth:
        with private_cluster(max_connections=300) as cluster:
            servers.migrate(cluster, "service")
            servers.load(cluster, "service", size)
            # Clean up after loading, so that the requests do not pay for it.
            cluster.execute("VACUUM", "service")
            cluster.execute("CHECKPOINT")
            with servers.service(cluster, "service") as server:
                sizes[size] = grown(cluster, server, options)
                print(f"{size:,} carts: {sizes[size]}", flush=True)
    return {"sizes": sizes}


def grown(cluster: Cluster, server: Server, options: argparse.Namespace) -> dict[str, Any]:
    carts = loaded_carts(cluster, server)
    create = scenarios.create(server, items=3, options=2)
    requests = {
        "create 3x2": create,
        "replace, 2 options": [
            client.request(
                "PUT",
                f"{path}/items/{item_id}",
                server.token,
                scenarios.encoded(in_currency(bodies.item(options=2), currency)),
            )
            for path, item_id, currency in carts
        ],
        "read 3x2": [client.request("GET", path, server.token) for path, _, _ in carts],
        "list 20": [
            client.request("GET", path.rpartition("/")[0], server.token) for path, _, _ in carts
        ],
    }
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in requests}
    written = []
    for _ in range(options.rounds):
        for name, prepared in requests.items():
            before = wal_bytes(cluster)
            cell = measure(cluster, server, prepared, options)
            rounds[name].append(cell)
            if name == "create 3x2":
                share = options.seconds / (options.seconds + WARM_UP)
                written.append((wal_bytes(cluster) - before) * share / len(cell["latencies"]))
    callers = {}
    for concurrency in CONCURRENCIES:
        alone = argparse.Namespace(**{**vars(options), "concurrency": concurrency})
        callers[concurrency] = summary([measure(cluster, server, create, alone)])
    [(disk,)] = cluster.execute("SELECT pg_database_size('service')")
    return {
        "scenarios": {name: summary(cells) for name, cells in rounds.items()},
        "wal": statistics.median(written),
        "callers": callers,
        "disk": disk,
    }


def loaded_carts(cluster: Cluster, server: Server) -> list[tuple[str, str, str]]:
    """Return the path, an item and the currency of carts from the whole year."""
    rows = cluster.execute(
        "SELECT c.profile_key, c.id, i.id, c.currency FROM carts_cart c"
        " JOIN carts_cartitem i ON i.cart_id = c.id AND i.position = 1"
        " ORDER BY random() LIMIT 5000",
        server.database,
    )
    return [
        (f"{scenarios.carts_path(profile)}/{cart_id}", str(item_id), currency)
        for profile, cart_id, item_id, currency in rows
    ]


def in_currency(item: dict[str, Any], currency: str) -> dict[str, Any]:
    options = [{**option, "currency": currency} for option in item["options"]]
    return {**item, "currency": currency, "options": options}


def wal_bytes(cluster: Cluster) -> int:
    [(written,)] = cluster.execute("SELECT (pg_current_wal_lsn() - '0/0')::bigint")
    return written
