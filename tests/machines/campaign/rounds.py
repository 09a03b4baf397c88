"""A system that faults can befall, and rounds of faults: one after another and two at once."""

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import DEVNULL

import psycopg

from tests.machines.campaign.faults import ALL, CANCELLED, FAULTS, System
from tests.machines.campaign.recorded_callers import RecordedCallers
from tests.machines.patroni_nodes import three_nodes
from tests.machines.servers import is_ready, service, session_limits
from tests.support.poolers import pooled
from tests.support.programs import ROOT, accepts, free_port, program, running, wait_until

HOLD_SECONDS = (1.0, 5.0)

# No worker, primary or synchronous standby is there at the moment.
NOT_MADE = (AssertionError, IndexError, OSError, StopIteration, psycopg.Error)


@contextmanager
def started() -> Iterator[System]:
    with ExitStack() as stack:
        enter = stack.enter_context
        nodes = enter(three_nodes())
        port, network_port = free_port(), free_port()
        balancer, primary = (f"127.0.0.1:{free_port()}" for _ in range(2))
        env = {
            "BALANCER": balancer,
            "PRIMARY": primary,
            "CARTSVC_PORT": str(port),
            "POSTGRESQL_PORT": str(nodes.postgresql_port),
            "PATRONI_PORT": str(nodes.patroni_port),
        }
        balancers = Path(__file__).with_name("haproxy.cfg")
        enter(running([program("haproxy"), "-db", "-q", "-f", balancers], env=env, stderr=DEVNULL))
        direct = nodes.url(primary)
        # Until it has asked them for the first time, HAProxy takes every node for the primary.
        wait_until(lambda: all(answers(direct) for _ in range(2 * len(nodes.all))))
        with psycopg.connect(direct, autocommit=True) as connection:
            connection.execute(session_limits("postgres"))
        command = [
            sys.executable,
            "-m",
            "tests.machines.campaign.slow_network",
            network_port,
            primary,
        ]
        network = enter(running(command, lambda: accepts(network_port), cwd=ROOT))
        pooler = enter(pooled(nodes.url(f"127.0.0.1:{network_port}")))
        url = pooler.variables["DATABASE_URL"]
        instances = [
            enter(service(url, DATABASE_ADMIN_URL=direct, BIND=f"127.0.0.{number}:{port}"))
            for number in (2, 3)
        ]
        wait_until(lambda: is_ready(f"http://{balancer}"))
        yield System(f"http://{balancer}", nodes, network, pooler, instances)


def answers(url: str) -> bool:
    with suppress(psycopg.OperationalError):
        psycopg.connect(url).close()
        return True
    return False


class Campaign:
    """Faults of all kinds under recorded callers, and how long none of them could write."""

    def __init__(self, system: System, recorded: RecordedCallers) -> None:
        self.system, self.recorded = system, recorded
        self.done = 0

    def rounds(self, faults: int, attempts: int) -> Iterator[Callable[[], None]]:
        """Yield each kind as often as the others, half of them two at once, until it is enough."""
        waiting = list[str]()
        while self.done < faults or self.recorded.attempts < attempts:
            waiting = waiting or random.sample(list(FAULTS), len(FAULTS))
            names = [waiting.pop()]
            others = [n for n in waiting if FAULTS[n].subject != FAULTS[names[0]].subject]
            if others and random.random() < 0.5:
                names.append(random.choice(others))
                waiting.remove(names[1])
            yield partial(self.strike, *names)
            # The callers do their share for the faults so far.
            while self.recorded.attempts < min(self.done / faults, 1) * attempts:
                self.recorded.wait_for_progress()

    def strike(self, *names: str) -> None:
        """Let these faults happen at once, mend them, and wait until writes pass again."""
        # An upgrade takes its time and must come last. A terminated node must be looked for first.
        names = tuple(sorted(names, key=lambda n: (n == "upgrade", ALL[n].subject != "nodes")))
        if any(ALL[name].subject in {"nodes", "connections"} for name in names):
            self.system.nodes.wait_until_whole()
            self.recorded.wait_for_progress()
        began = time.monotonic()
        self.recorded.dirty_reads = CANCELLED in names
        with ExitStack() as after:
            for name in names:
                try:
                    ALL[name].begin(self.system, after)
                    self.done += 1
                except NOT_MADE as error:
                    print(f"     {name} could not be made: {error!r}"[:200])
            self.recorded.dirty_reads = False
            time.sleep(random.uniform(*HOLD_SECONDS))
        try:
            self.recorded.wait_for_progress(60)
        except AssertionError:
            # Nothing is acknowledged as long as no standby follows the new primary.
            self.system.nodes.wait_until_whole()
            self.recorded.wait_for_progress()
        print(
            f"{self.done:4} {' and '.join(names)}: "
            f"{self.recorded.longest_pause(began):.1f} s without a write; "
            f"{self.recorded.attempts} attempts so far",
            flush=True,
        )
