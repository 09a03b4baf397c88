"""The benchmark's runs, written as Markdown."""

import argparse
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cartsvc.environment_variables import usable_cores
from tests.bench import scenarios, servers
from tests.bench.load_generator import Sample
from tests.bench.servers import Server
from tests.support.citus import citus
from tests.support.clusters import Cluster
from tests.support.programs import manage

WARM_UP = 0.3
CHANGES = "list 100 changes"
SIDES = "service", "floor", "again"
NO_LARGE = ["create 3x2", "replace, 2 options", "read 3x2", "list 20"]

# Paths of lists, carts and items from the whole year.
LOADED = """
SELECT list, list || '/' || cart_id, list || '/' || cart_id || '/items/' || id
FROM carts_cartitem, concat('/v2.0/customers/', profile_key, '/carts') AS list
WHERE position = 1 ORDER BY random() LIMIT 5000
"""


@dataclass
class Cell(Sample):
    """What was measured of one server and scenario in one round. The costs are a request's."""

    wal: float = 0.0  # bytes
    client_cpu: float = 0.0  # seconds
    server_cpu: float = 0.0
    postgres_cpu: list[float] = field(default_factory=list)  # of each of its servers

    @property
    def cpu(self) -> float:
        """Of all processes."""
        return self.client_cpu + self.server_cpu + sum(self.postgres_cpu)


Requests = Iterator[bytes]
Cells = dict[tuple[str, str], list[Cell]]  # by scenario and server


def against_floor(options: argparse.Namespace) -> str:
    """Print the README's tables of the service, its floor, and the service again."""
    cells: Cells = defaultdict(list)
    for name, server, _, cell in turns(options, scenarios.NAMES, *SIDES):
        cells[name, server.name].append(cell)
    return "\n\n".join(
        [
            compared(cells, "Requests a second", rates, "service ÷ floor", lambda cell: cell.rate),
            compared(
                cells,
                "CPU ms (server, PostgreSQL)",
                cpu,
                "floor ÷ service",
                lambda cell: 1 / cell.cpu,
            ),
            compared(
                cells,
                "p50, p99 ms",
                waits,
                "p99, service ÷ floor",
                lambda cell: quantile([cell], 0.99),
            ),
        ]
    )


def compared(
    cells: Cells,
    what: str,
    shown: Callable[[list[Cell]], str],
    quotient: str,
    of: Callable[[Cell], float],
) -> str:
    """Return a table of what the sides show in each scenario, and the median of the rounds' ratios.

    Noise in a round affects both sides of a ratio. Both runs of the service count.
    """
    rows = []
    for name in dict.fromkeys(name for name, _ in cells):
        service, floor, again = sides = [cells[name, side] for side in SIDES]
        ratios = [
            of(mine) / of(theirs)
            for run in (service, again)
            for mine, theirs in zip(run, floor, strict=True)
        ]
        rows.append([name, *map(shown, sides), f"{statistics.median(ratios):.2f}"])
    return table([what, "this service", "floor", "this service, once more", quotient], rows)


def rates(cells: list[Cell]) -> str:
    found = [cell.rate for cell in cells]
    return f"{statistics.median(found):.0f} ({min(found):.0f}-{max(found):.0f})"


def cpu(cells: list[Cell]) -> str:
    """Return the milliseconds of all processes, and in brackets those of two."""
    everything, server, postgres = (
        1000 * statistics.median(of)
        for of in zip(
            *((cell.cpu, cell.server_cpu, sum(cell.postgres_cpu)) for cell in cells), strict=True
        )
    )
    return f"{everything:.2f} ({server:.2f}, {postgres:.2f})"


def waits(cells: list[Cell]) -> str:
    return f"{quantile(cells, 0.5):.1f}, {quantile(cells, 0.99):.1f}"


def turns(
    options: argparse.Namespace, names: list[str], *everyone: str
) -> Iterator[tuple[str, Server, Requests, Cell]]:
    """Measure these servers in each scenario and round. Each round has a new order.

    The tables have statistics of what they hold: without, a read may be planned twice as dear.
    """
    with servers.cluster_with(*everyone) as (cluster, running):
        for server in running:
            scenarios.verify(server.ask)
        prepared = {one.name: one.endless(scenarios.prepare(one.ask)) for one in running}
        for turn in range(options.rounds):
            shift = turn % len(running)
            for name in options.only or names:
                for server in running:
                    cluster.execute("ANALYZE", server.name)
                for server in running[shift:] + running[:shift]:
                    requests = prepared[server.name][name]
                    yield name, server, requests, measure([cluster], server, requests, options)
            print(f"round {turn + 1} of {options.rounds}", flush=True)


def measure(
    clusters: list[Cluster], server: Server, requests: Requests, options: argparse.Namespace
) -> Cell:
    server.load(requests, WARM_UP, options.concurrency)

    def spent() -> list[float]:
        [(wal,)] = clusters[0].execute("SELECT (pg_current_wal_lsn() - '0/0')::bigint")
        processes = server.pid, *(cluster.pid for cluster in clusters)
        return [wal, time.process_time(), *map(cpu_seconds, processes)]

    before = spent()
    sample = server.load(requests, options.seconds, options.concurrency)
    wal, client_cpu, server_cpu, *postgres_cpu = [
        (b - a) / len(sample.latencies) for a, b in zip(before, spent(), strict=True)
    ]
    return Cell(
        **vars(sample),
        wal=wal,
        client_cpu=client_cpu,
        server_cpu=server_cpu,
        postgres_cpu=postgres_cpu,
    )


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its descendants, including those that have ended."""
    process, found = Path(f"/proc/{pid}"), 0.0
    with suppress(OSError):  # it has just ended
        ended = (process / "stat").read_text().rpartition(")")[2].split()[13:15]
        found += sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")
        for task in (process / "task").iterdir():
            found += int((task / "schedstat").read_text().split()[0]) / 1e9
            found += sum(map(cpu_seconds, map(int, (task / "children").read_text().split())))
    return found


def quantile(samples: Iterable[Sample], share: float) -> float:
    """Return how many milliseconds this share of all requests took at most."""
    latencies = sorted(latency for sample in samples for latency in sample.latencies)
    return 1000 * latencies[int(len(latencies) * share)]


def table(header: list[Any], rows: Iterable[list[Any]]) -> str:
    written = ["| " + " | ".join(map(str, line)) + " |" for line in (header, *rows)]
    return "\n".join([written[0], "|---" + "|---:" * (len(header) - 1) + "|", *written[1:]])


def alone(
    clusters: list[Cluster],
    server: Server,
    requests: dict[str, Requests],
    options: argparse.Namespace,
) -> dict[str, list[Cell]]:
    """Measure one server, with all rounds of a scenario after each other."""
    return {
        name: [measure(clusters, server, requests[name], options) for _ in range(options.rounds)]
        for name in options.only or [*NO_LARGE, *requests.keys() & {CHANGES}]
    }


def growth(options: argparse.Namespace) -> str:
    """Measure the service alone, with growing numbers of carts."""
    rows = []
    for size in options.growth:
        with servers.cluster_with("service") as (cluster, [server]):
            servers.load(cluster, size)
            # Clean up after loading, so that the requests do not pay for it.
            cluster.execute("VACUUM", "service")
            cluster.execute("CHECKPOINT")
            lists, carts, items = zip(*cluster.execute(LOADED, "service"), strict=True)
            asked = scenarios.requests(lists, carts, items)
            changes = [("GET", "/v2.0/changes?after=0", None)]
            requests = server.endless(asked | {CHANGES: changes})
            found = alone([cluster], server, requests, options)
            [(disk,)] = cluster.execute("SELECT pg_database_size('service')")
        row = [f"{size:,} carts", f"{disk / 1e9:.2f}"]
        for cells in found.values():
            wal = statistics.median(cell.wal for cell in cells)
            row.append(f"{quantile(cells, 0.5):.2f} ms, {wal / 1000:.1f} kB")
        rows.append(row)
    return table(["p50, WAL of a request", "GB", *found], rows)


def capacity(options: argparse.Namespace) -> str:
    """Measure what this machine serves, with a worker on each core; the client has its share."""
    cores = usable_cores()
    options.only = options.only or ["create 3x2", "read 3x2"]
    with servers.cluster_with("service", WEB_CONCURRENCY=str(cores)) as (cluster, [server]):
        requests = server.endless(scenarios.prepare(server.ask))
        found = alone([cluster], server, requests, options)
    rows = [
        [
            name,
            f"{statistics.median(cell.rate for cell in cells):.0f}",
            f"{quantile(cells, 0.99):.1f}",
        ]
        for name, cells in found.items()
    ]
    return table([f"on {cores} cores", "requests a second", "p99 ms"], rows)


def open_loop(options: argparse.Namespace) -> str:
    """Measure what callers of the service and the floor wait, at half of each one's saturation."""
    sides: dict[str, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for name, server, requests, full in turns(options, NO_LARGE[:3], "service", "floor"):
        sample = server.load(requests, 4 * options.seconds, concurrency=64, rate=full.rate / 2)
        sides[name][server.name].append(sample)
    rows = []
    for name, samples in sides.items():
        both = [samples["service"], samples["floor"]]
        rates = [f"{statistics.mean(sample.rate for sample in side):.0f}" for side in both]
        row = [name, ", ".join(rates)]
        for share in 0.5, 0.99, 0.999:
            mine, floors = (quantile(side, share) for side in both)
            row.append(f"{mine:.1f}, {floors:.1f} ({mine / floors:.2f})")
        rows.append(row)
    header = ["waits, ms: service, floor (ratio)", "requests a second", "median", "p99", "p99.9"]
    return table(header, rows)


def spread(options: argparse.Namespace) -> str:
    """Measure the CPU time of one PostgreSQL, and of three with Citus, through two of them."""
    rows: list[list[str]] = []

    def add(through: str, nodes: list[Cluster], server: Server) -> None:
        found = alone(nodes, server, server.endless(scenarios.prepare(server.ask)), options)
        for name, cells in found.items():
            nodes_cpu = zip(*(cell.postgres_cpu for cell in cells), strict=True)
            each = [1e6 * statistics.median(cpu) for cpu in nodes_cpu]
            rows.append([name, through, *(f"{one:.0f}" for one in (sum(each), *each))])

    with servers.cluster_with("service") as (cluster, [server]):
        add("one PostgreSQL", [cluster], server)
    with citus("service") as nodes:
        token = servers.migrate(nodes[0], "service")
        manage("distribute", **servers.environment(nodes[0], "service")).check_returncode()
        for through, gate in zip(("the coordinator", "a worker"), nodes, strict=False):
            with servers.started(gate, "service", token) as server:
                add(through, nodes, server)
    return table(["PostgreSQL CPU µs", "through", "all", "coordinator", "worker", "worker"], rows)
