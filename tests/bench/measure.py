"""The benchmark's runs, written as Markdown. Each round measures every server, in a new order."""

import argparse
import itertools
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.bench import client, processes, scenarios, servers
from tests.bench.client import Sample
from tests.bench.servers import Server
from tests.support.clusters import Cluster

WARM_UP = 0.3
NO_LARGE = ["create 3x2", "replace, 2 options", "read 3x2", "list 20"]


@dataclass
class Cell:
    """What was measured of one server and scenario in one round. Times are in seconds."""

    rate: float
    latencies: list[float]
    server_cpu: float
    wal: float
    postgres_cpu: list[float]  # of each of its servers


def table(header: list[Any], rows: Iterable[list[Any]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def seconds(limit: float) -> Callable[[Sample, float], bool]:
    return lambda _, elapsed: elapsed < limit


def rivals(options: argparse.Namespace) -> str:
    """Measure the service, its floor, two rivals, and the service again for the error bar."""
    chosen = options.only or scenarios.NAMES
    everyone = "service", "floor", "tutorial", "fastapi", "again"
    with servers.cluster_with(*everyone) as (cluster, running):
        for server in running:
            scenarios.verify(server)
        prepared = {server.name: scenarios.prepare(server, chosen) for server in running}
        cells: dict[tuple[str, str], list[Cell]] = {
            (name, server.name): [] for name in chosen for server in running
        }
        for turn in range(options.rounds):
            shift = turn % len(running)
            for name in chosen:
                for server in running[shift:] + running[:shift]:
                    cell = measure([cluster], server, prepared[server.name][name], options)
                    cells[name, server.name].append(cell)
            print(f"round {turn + 1} of {options.rounds}", flush=True)
    header = ["", "", "requests a second", "service ÷ it", "p50 ms", "p99 ms"]
    return table(
        [*header, "server CPU ms", "PostgreSQL CPU ms"],
        [[*key, *row(found, ratio(cells, *key))] for key, found in cells.items()],
    )


def measure(
    clusters: list[Cluster], server: Server, requests: list[bytes], options: argparse.Namespace
) -> Cell:
    load = {"requests": requests, "concurrency": options.concurrency}
    client.run(server.port, **load, more=seconds(WARM_UP))

    def spent() -> list[float]:
        [(wal,)] = clusters[0].execute("SELECT (pg_current_wal_lsn() - '0/0')::bigint")
        pids = server.pid, *(cluster.pid for cluster in clusters)
        return [wal, *map(processes.cpu_seconds, pids)]

    before = spent()
    sample = client.run(server.port, **load, more=seconds(options.seconds))
    wal, server_cpu, *postgres_cpu = [
        (b - a) / len(sample.latencies) for a, b in zip(before, spent(), strict=True)
    ]
    return Cell(sample.rate, sample.latencies, server_cpu, wal, postgres_cpu)


def ratio(cells: dict[tuple[str, str], list[Cell]], name: str, rival: str) -> float:
    """Return the median of the rounds' ratios. Noise in a round affects both sides of a ratio.

    Both runs of the service count, except where they are compared with each other.
    """
    return statistics.median(
        mine.rate / theirs.rate
        for run in sorted({"service", "again"} - {rival})
        for mine, theirs in zip(cells[name, run], cells[name, rival], strict=True)
    )


def row(cells: list[Cell], service_to_it: float) -> list[str]:
    """Return the medians over the rounds, with the range of the rates."""
    rates = [cell.rate for cell in cells]
    return [
        f"{statistics.median(rates):.0f} ({min(rates):.0f}-{max(rates):.0f})",
        f"{service_to_it:.2f}",
        *(f"{quantile(cells, share):.2f}" for share in (0.5, 0.99)),
        f"{1000 * statistics.median(cell.server_cpu for cell in cells):.2f}",
        f"{1000 * statistics.median(sum(cell.postgres_cpu) for cell in cells):.2f}",
    ]


def quantile(measured: Iterable[Cell | Sample], share: float) -> float:
    """Return how many milliseconds this share of all requests took at most."""
    latencies = sorted(latency for one in measured for latency in one.latencies)
    return 1000 * latencies[int(len(latencies) * share)]


def growth(options: argparse.Namespace) -> str:
    """Measure the service alone, with growing numbers of carts."""
    rows = []
    for size in options.growth:
        with servers.cluster_with("service") as (cluster, [server]):
            servers.load(cluster, size)
            # Clean up after loading, so that the requests do not pay for it.
            cluster.execute("VACUUM", "service")
            cluster.execute("CHECKPOINT")
            requests = loaded_carts(cluster, server)
            found = {
                name: [measure([cluster], server, sent, options) for _ in range(options.rounds)]
                for name, sent in requests.items()
            }
            [(disk,)] = cluster.execute("SELECT pg_database_size('service')")
        medians = [f"{quantile(cells, 0.5):.2f}" for cells in found.values()]
        wal = [
            f"{statistics.median(cell.wal for cell in found[name]) / 1000:.1f}"
            for name in ("create 3x2", "replace, 2 options")
        ]
        rows.append([f"{size:,} carts", f"{disk / 1e9:.2f}", *medians, *wal])
    names = [f"{name}: p50 ms" for name in requests]
    return table(["", "GB", *names, "kB of WAL: create", "replace"], rows)


def loaded_carts(cluster: Cluster, server: Server) -> dict[str, list[bytes]]:
    """Return the requests of each scenario, for carts from the whole year."""
    rows = cluster.execute(
        "SELECT profile_key, cart_id, id FROM carts_cartitem WHERE position = 1"
        " ORDER BY random() LIMIT 5000",
        "service",
    )
    lists = [scenarios.carts_path(profile) for profile, _, _ in rows]
    carts = [f"{scenarios.carts_path(profile)}/{cart}" for profile, cart, _ in rows]
    items = [f"{cart}/items/{item}" for cart, (_, _, item) in zip(carts, rows, strict=True)]
    return {
        "create 3x2": scenarios.create(server, items=3, options=2),
        "replace, 2 options": scenarios.replace(server, items, options=2),
        "read 3x2": scenarios.read(server, carts),
        "list 20": scenarios.read(server, lists),
    }


def open_loop(options: argparse.Namespace) -> str:
    """Measure what callers of the service and the floor wait, at half of each one's saturation."""
    chosen = options.only or NO_LARGE[:3]
    samples: dict[tuple[str, str], list[Sample]] = {}
    with servers.cluster_with("service", "floor") as (cluster, running):
        prepared = {server.name: scenarios.prepare(server, chosen) for server in running}
        for number in range(options.rounds):
            # In turn, each goes first.
            for server, name in itertools.product(running[:: (-1) ** number], chosen):
                requests = prepared[server.name][name]
                full = measure([cluster], server, requests, options)
                open_loop = {"concurrency": 64, "rate": full.rate / 2}
                more = seconds(4 * options.seconds)
                sample = client.run(server.port, requests, more=more, **open_loop)
                samples.setdefault((name, server.name), []).append(sample)
    rows = []
    for name in chosen:
        mine, floors = samples[name, "service"], samples[name, "floor"]
        rates = [statistics.mean(one.rate for one in side) for side in (mine, floors)]
        row = [name, f"{rates[0]:.0f}, {rates[1]:.0f}"]
        for share in 0.5, 0.99, 0.999:
            waits = quantile(mine, share), quantile(floors, share)
            row.append(f"{waits[0]:.1f}, {waits[1]:.1f} ({waits[0] / waits[1]:.2f})")
        rows.append(row)
    header = ["waits, ms: service, floor (ratio)", "requests a second", "median", "p99", "p99.9"]
    return table(header, rows)


def citus(options: argparse.Namespace) -> str:
    """Measure the CPU time of one PostgreSQL, and of three with Citus, through two of them."""
    rows: list[list[str]] = []

    def add(through: str, nodes: list[Cluster], server: Server) -> None:
        for name, requests in scenarios.prepare(server, options.only or NO_LARGE).items():
            rounds = [measure(nodes, server, requests, options) for _ in range(options.rounds)]
            nodes_cpu = zip(*(cell.postgres_cpu for cell in rounds), strict=True)
            each = [1e6 * statistics.median(cpu) for cpu in nodes_cpu]
            rows.append([name, through, *(f"{one:.0f}" for one in (sum(each), *each))])

    with servers.cluster_with("service") as (cluster, [server]):
        add("one PostgreSQL", [cluster], server)
    with servers.spread() as nodes:
        for through, gate in zip(("the coordinator", "a worker"), nodes, strict=False):
            command, variables = servers.commands()["service"], servers.environment(gate, "service")
            with servers.serving("service", command, variables, servers.bearer()) as server:
                add(through, nodes, server)
    return table(["PostgreSQL CPU µs", "through", "all", "coordinator", "worker", "worker"], rows)
