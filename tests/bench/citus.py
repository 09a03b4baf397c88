"""What a request costs each server of a Citus cluster, beside plain PostgreSQL: CPU time.

python -m tests.bench.citus

The application runs in a process of its own for each of the three: plain PostgreSQL, the
coordinator, a worker. The customers are spread over both workers.
"""

import json
import logging
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from itertools import islice

import django

from tests.bench import processes, scenarios, servers
from tests.bench.instructions import caller
from tests.support import bodies
from tests.support.citus import citus
from tests.support.clusters import Cluster, private_cluster

CUSTOMERS, TIMES, WARM_UP = 100, 1_000, 200

Calls = Iterator[Callable[[], bytes]]


def calls() -> dict[str, Calls]:
    """Return the calls of each operation, of one customer after another."""
    new, changed = bodies.cart(items=3, options=2), scenarios.replacements(options=2)
    lists = [scenarios.carts_path(uuid.uuid4()) for _ in range(CUSTOMERS)]
    created = [json.loads(caller("POST", path, new)())["data"]["cartId"] for path in lists]
    carts = [f"{path}/{cart_id}" for path, cart_id in zip(lists, created, strict=True)]
    shown = [json.loads(caller("GET", cart)())["data"]["items"][0] for cart in carts]
    items = [f"{cart}/items/{item['itemId']}" for cart, item in zip(carts, shown, strict=True)]
    rounds = range((WARM_UP + TIMES) // CUSTOMERS)
    return {
        "create 3x2": (caller("POST", path, new) for _ in rounds for path in lists),
        "replace, 2 options": (
            caller("PUT", item, changed[turn % 2]) for turn in rounds for item in items
        ),
        "read 3x2": (caller("GET", cart) for _ in rounds for cart in carts),
        "list": (caller("GET", path) for _ in rounds for path in lists),
    }


def measure(pids: list[int]) -> None:
    """Print the CPU time of the servers with these pids, in µs a request of each operation."""
    for name, operation in calls().items():
        [call() for call in islice(operation, WARM_UP)]
        prepared = list(operation)
        before = [processes.cpu_seconds(pid) for pid in pids]
        [call() for call in prepared]
        after = [processes.cpu_seconds(pid) for pid in pids]
        spent = [1e6 * (b - a) / len(prepared) for a, b in zip(before, after, strict=True)]
        print(f"| {name} | {' | '.join(f'{one:.0f}' for one in spent)} | {sum(spent):.0f} |")


def inside(gate: Cluster, nodes: list[Cluster], name: str) -> None:
    """Measure in a new process, through this server."""
    print(f"\n| {name}, CPU µs |{' |' * len(nodes)} all |", flush=True)
    command = [sys.executable, "-m", "tests.bench.citus", *(str(node.pid) for node in nodes)]
    subprocess.run(command, env=servers.environment(gate, "service"), check=True)


def main() -> None:
    quiet = {"autovacuum": "off", "citus.enable_statistics_collection": "off"}
    with private_cluster(autovacuum="off") as plain:
        servers.migrate(plain, "service")
        inside(plain, [plain], "PostgreSQL")
    with citus("service", **quiet) as nodes:
        for command in "migrate", "distribute":
            servers.manage(servers.environment(nodes[0], "service"), command)
        inside(nodes[0], nodes, "coordinator and two workers, through the coordinator")
        inside(nodes[1], nodes, "coordinator and two workers, through the first worker")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        django.setup()
        logging.disable()
        measure(list(map(int, sys.argv[1:])))
