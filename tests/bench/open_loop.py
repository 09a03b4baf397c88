"""Latency in an open loop: what callers wait who do not wait for each other.

python -m tests.bench.open_loop
python -m tests.bench.open_loop --seconds 60 --rounds 5 --only "read 3x2"

Requests arrive at random (Poisson) at a fixed rate, whether the last ones are answered or not. The
wait is counted from the arrival, so it includes what a request waits for a free connection. Each
round measures the saturation of the service and of its floor, then both at half of their own.
"""

import argparse
import itertools
import random
import selectors
import time
from collections import deque
from collections.abc import Iterable
from contextlib import ExitStack

from tests.bench import client, measure, processes, report, scenarios, servers
from tests.bench.client import Connection, Sample
from tests.bench.measure import seconds
from tests.support.clusters import private_cluster

SCENARIOS = ["create 3x2", "replace, 2 options", "read 3x2"]
SHARES = {"median": 0.5, "p99": 0.99, "p99.9": 0.999}
CONNECTIONS = 64


def run(port: int, requests: Iterable[bytes], *, rate: float, duration: float) -> Sample:
    """Send the requests over and over, `rate` a second, for `duration` seconds. Any error ends it.

    All are answered before it returns. `Sample.latencies` has their waits in seconds.
    """
    sample, endless = Sample(), itertools.cycle(requests)
    free = deque(Connection(port) for _ in range(CONNECTIONS))
    arrived_at: dict[Connection, float] = {}
    waiting: deque[float] = deque()
    with selectors.DefaultSelector() as selector:
        for connection in free:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        began = time.perf_counter()
        arrival, end = began + random.expovariate(rate), began + duration
        while waiting or arrived_at or arrival < end:
            now = time.perf_counter()
            while arrival <= now and arrival < end:
                waiting.append(arrival)
                arrival += random.expovariate(rate)
            while waiting and free:
                connection = free.popleft()
                arrived_at[connection] = waiting.popleft()
                connection.send(next(endless))
            until_next = max(0.0, arrival - time.perf_counter()) if arrival < end else None
            for key, _ in selector.select(until_next):
                if key.data.receive() is not None:
                    sample.latencies.append(time.perf_counter() - arrived_at.pop(key.data))
                    free.append(key.data)
        sample.seconds = time.perf_counter() - began
    for connection in free:
        connection.socket.close()
    return sample


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.open_loop", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=20, help="of each measurement (%(default)s)"
    )
    parser.add_argument("--share", type=float, default=0.5, help="of the saturation (%(default)s)")
    parser.add_argument("--only", choices=SCENARIOS, action="append", help="may be repeated")
    options = parser.parse_args()
    chosen = options.only or SCENARIOS
    waits: dict[tuple[str, str], list[float]] = {}
    core_waits: dict[tuple[str, str], list[float]] = {}
    rates: dict[tuple[str, str], list[float]] = {}
    with private_cluster(max_connections=300) as cluster, ExitStack() as stack:
        running = []
        for start, name in (servers.service, "service"), (servers.floor, "floor"):
            servers.migrate(cluster, name)
            running.append(stack.enter_context(start(cluster, name)))
        prepared = {server.name: scenarios.prepare(server, chosen) for server in running}
        for number in range(options.rounds):
            # In turn, each goes first.
            for server, name in itertools.product(running[:: (-1) ** number], chosen):
                requests = prepared[server.name][name]
                client.run(server.port, requests, concurrency=8, more=seconds(measure.WARM_UP))
                limit = min(3.0, options.seconds)
                full = client.run(server.port, requests, concurrency=8, more=seconds(limit))
                rate = full.rate * options.share
                before = [processes.core_wait_seconds(pid) for pid in (server.pid, cluster.pid)]
                sample = run(server.port, requests, rate=rate, duration=options.seconds)
                after = [processes.core_wait_seconds(pid) for pid in (server.pid, cluster.pid)]
                waited = (sum(after) - sum(before)) / len(sample.latencies)
                core_waits.setdefault((name, server.name), []).append(waited)
                waits.setdefault((name, server.name), []).extend(sample.latencies)
                rates.setdefault((name, server.name), []).append(sample.rate)
    print(table(chosen, waits, core_waits, rates))


def table(
    chosen: list[str],
    waits: dict[tuple[str, str], list[float]],
    core_waits: dict[tuple[str, str], list[float]],
    rates: dict[tuple[str, str], list[float]],
) -> str:
    rows = []
    for name in chosen:
        sides = [sorted(waits[name, side]) for side in ("service", "floor")]
        found = [[side[int(len(side) * share)] for share in SHARES.values()] for side in sides]
        for side, values in zip(("service", "floor"), found, strict=True):
            rate = sum(rates[name, side]) / len(rates[name, side])
            waited = sum(core_waits[name, side]) / len(core_waits[name, side])
            row = [name, side, f"{rate:.0f}", *(f"{1000 * value:.1f}" for value in values)]
            rows.append([*row, f"{1000 * waited:.2f}"])
        ratios = (mine / theirs for mine, theirs in zip(*found, strict=True))
        rows.append([name, "service ÷ floor", "", *(f"{ratio:.2f}" for ratio in ratios), ""])
    head = ["waits, ms", "", "requests a second", *SHARES, "of a request, for a core"]
    return report.table(head, rows)


if __name__ == "__main__":
    main()
