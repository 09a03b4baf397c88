"""Faults under load, one after another and two at once, and a verdict on what the callers saw.

    python -m tests.chaos.campaign --faults 100 --operations 1000000 --folder /tmp/histories

Etcd, three nodes of Patroni with one synchronous standby, HAProxy, a network that can be cut,
PgBouncer, two instances and eight callers. As root, each node has a disk that can be filled. With
Debian's package faketime, an instance gets a clock that is stepped, and back.
"""

import argparse
import logging
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from subprocess import SubprocessError, TimeoutExpired

import psycopg
import requests

from tests.chaos import test_failover as failover
from tests.chaos.ledger import Ledger
from tests.chaos.nodes import Nodes, three_nodes
from tests.chaos.proxies import haproxy
from tests.chaos.servers import CLOCKS, Service, service, with_clock
from tests.chaos.wire import Wire, wire
from tests.support.poolers import Pooler, pooled
from tests.support.programs import free_port, wait_until

CALLERS = 8
HOLD_SECONDS = (1.0, 5.0)
LIMITS = {
    "jit": "off",
    "lock_timeout": "2s",
    "statement_timeout": "3s",
    "idle_in_transaction_session_timeout": "10s",
}

# No worker, primary or synchronous standby is there at the moment.
NOT_MADE = (AssertionError, IndexError, OSError, StopIteration, psycopg.Error)

Mend = Callable[[], None]


@dataclass
class System:
    """All that can fail."""

    nodes: Nodes
    wire: Wire
    pooler: Pooler
    instances: list[Service]
    clock: Path

    def worker(self) -> int:
        return random.choice([pid for each in self.instances for pid in each.workers()])


def resume(pid: int) -> Mend:
    def mend() -> None:
        with suppress(ProcessLookupError):  # an upgrade has ended it meanwhile
            os.kill(pid, signal.SIGCONT)

    os.kill(pid, signal.SIGSTOP)
    return mend


def kill_a_worker(system: System) -> Mend:
    os.kill(system.worker(), signal.SIGKILL)
    return failover.nothing


def freeze_a_worker(system: System) -> Mend:
    return resume(system.worker())


def kill_the_pooler(system: System) -> Mend:
    system.pooler.kill()
    return system.pooler.start


def freeze_the_pooler(system: System) -> Mend:
    return resume(system.pooler.process.pid)


def cut_the_network(system: System) -> Mend:
    system.wire.cut()
    return system.wire.mend


def slow_the_network(system: System) -> Mend:
    system.wire.slow()
    return system.wire.slow


def restart(instance: Service, **env: str) -> None:
    """Stop an instance, migrate and start it, again while the database is away."""
    workers = instance.workers()
    try:
        instance.stop()
    except TimeoutExpired:  # a frozen worker does not end; systemd kills it, too
        for pid in (instance.process.pid, *workers):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        instance.process.wait()
    instance.env |= env
    deadline = time.monotonic() + 120
    while True:
        try:
            instance.manage("migrate", "--verbosity=0")
            instance.start()
            break
        except AssertionError:
            assert time.monotonic() < deadline


def step_a_clock(system: System) -> Mend:
    """Step the clock of an instance that has one only as long, because it doubles the work."""
    instance = random.choice(system.instances)

    def mend() -> None:
        system.clock.write_text("+0")
        time.sleep(2)  # it is read once a second
        restart(instance, LD_PRELOAD="")

    restart(instance, **with_clock(system.clock))
    time.sleep(1)
    system.clock.write_text(random.choice(["-600", "-20", "+20", "+600"]))
    return mend


def upgrade(system: System) -> Mend:
    """Migrate and restart one instance after the other."""
    for instance in system.instances:
        restart(instance)
    return failover.nothing


def terminate_connections(system: System) -> Mend:
    with system.nodes.wait_for_primary().connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'carts'"
        )
    return failover.nothing


def lose_the_standby(system: System) -> Mend:
    standby = system.nodes.synchronous()
    standby.lose()
    return standby.start


def fill_the_disk(system: System) -> Mend:
    primary = system.nodes.wait_for_primary()
    try:
        primary.fill()
    except AssertionError:
        primary.make_room()
        raise
    return primary.make_room


def of_nodes(fault: failover.Fault) -> Callable[[System], Mend]:
    return lambda system: fault(system.nodes)


@dataclass
class Fault:
    subject: str
    begin: Callable[[System], Mend]


FAULTS = {
    "worker killed": Fault("worker", kill_a_worker),
    "worker frozen": Fault("worker", freeze_a_worker),
    "pooler killed": Fault("pooler", kill_the_pooler),
    "pooler frozen": Fault("pooler", freeze_the_pooler),
    "network cut": Fault("network", cut_the_network),
    "network slow": Fault("network", slow_the_network),
    "clock stepped": Fault("instances", step_a_clock),
    "upgrade": Fault("instances", upgrade),
    "connections terminated": Fault("connections", terminate_connections),
    "PostgreSQL killed": Fault("nodes", of_nodes(failover.kill_postgresql)),
    "primary lost": Fault("nodes", of_nodes(failover.lose_the_primary)),
    "primary frozen": Fault("nodes", of_nodes(failover.freeze_the_primary)),
    "switched over": Fault("nodes", of_nodes(failover.switch_over)),
    "standby lost": Fault("nodes", lose_the_standby),
    "standby frozen": Fault("nodes", of_nodes(failover.freeze_the_standby)),
    "disk full": Fault("nodes", fill_the_disk),
}


@contextmanager
def started(folder: Path) -> Iterator[tuple[str, System]]:
    with ExitStack() as stack:
        enter = stack.enter_context
        nodes = enter(three_nodes(disk="" if os.geteuid() else "4g"))
        port = free_port()
        ports = {"postgresql": nodes.postgresql_port, "patroni": nodes.patroni_port}
        balanced = enter(haproxy(cartsvc=port, **ports))
        direct = nodes.url(balanced.primary)
        # Until it has asked them for the first time, HAProxy takes every node for the primary.
        wait_until(lambda: all(failover.accepts(direct) for _ in range(2 * len(nodes.all))))
        with psycopg.connect(direct, autocommit=True) as connection:
            for name, value in LIMITS.items():
                connection.execute(f"ALTER ROLE postgres SET {name} = '{value}'")
        network = enter(wire(balanced.primary))
        pooler = enter(pooled(nodes.url(f"127.0.0.1:{network.port}")))
        url = pooler.variables["DATABASE_URL"]
        instances = [
            enter(service(url, DATABASE_ADMIN_URL=direct, BIND=f"127.0.0.{number}:{port}"))
            for number in (2, 3)
        ]
        wait_until(lambda: requests.get(f"{balanced.url}/readyz", timeout=60).ok, 60)
        yield balanced.url, System(nodes, network, pooler, instances, folder / "clock")


class Campaign:
    """Faults of all kinds, as often as one another, until faults and operations are enough."""

    def __init__(self, system: System, ledger: Ledger, asked: argparse.Namespace) -> None:
        self.system, self.ledger, self.asked = system, ledger, asked
        self.until = time.monotonic() + asked.seconds
        self.outages: dict[str, list[float]] = defaultdict(list)
        self.done = 0
        self.kinds = [
            name
            for name in FAULTS
            if not (name == "clock stepped" and not CLOCKS)
            and not (name == "disk full" and os.geteuid())
        ]

    def rounds(self) -> Iterator[Callable[[], None]]:
        waiting: list[str] = []
        while not self.enough():
            if not waiting:
                waiting = random.sample(self.kinds, len(self.kinds))
            names = [waiting.pop()]
            others = [n for n in waiting if FAULTS[n].subject != FAULTS[names[0]].subject]
            if others and random.random() < 0.5:
                names.append(random.choice(others))
                waiting.remove(names[1])
            yield lambda names=names: self.strike(names)
            self.wait_for_operations()

    def wait_for_operations(self) -> None:
        """Let the callers work until they have done their share for the faults so far."""
        share = self.done * self.asked.operations / self.asked.faults
        while self.ledger.attempts < share and not self.enough():
            time.sleep(1)

    def enough(self) -> bool:
        done = self.done >= self.asked.faults and self.ledger.attempts >= self.asked.operations
        return done or time.monotonic() > self.until

    def strike(self, names: list[str]) -> None:
        """Let these faults happen at once, mend them, and wait until writes pass again."""
        # An upgrade takes its time and must come last. A terminated node must be looked for first.
        names = sorted(names, key=lambda name: (name == "upgrade", FAULTS[name].subject != "nodes"))
        if any(FAULTS[name].subject in {"nodes", "connections"} for name in names):
            self.system.nodes.wait_until_whole()
            self.ledger.wait_for_progress()
        began = time.monotonic()
        mends: list[Mend] = []
        try:
            for name in names:
                try:
                    mends.append(FAULTS[name].begin(self.system))
                    self.done += 1
                except NOT_MADE as error:
                    print(f"     {name} could not be made: {error!r}"[:200])
            time.sleep(random.uniform(*HOLD_SECONDS))
        finally:
            for mend in reversed(mends):
                mend()
        try:
            self.ledger.wait_for_progress(60)
        except AssertionError:
            # Nothing is acknowledged as long as no standby follows the new primary.
            self.system.nodes.wait_until_whole()
            self.ledger.wait_for_progress()
        outage = self.ledger.longest_pause(began)
        self.outages[" + ".join(sorted(names))].append(outage)
        print(
            f"{self.done:4} {' and '.join(names)}: {outage:.1f} s without a write; "
            f"{self.ledger.attempts} attempts so far",
            flush=True,
        )


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--faults", type=int, default=100)
    options.add_argument("--operations", type=int, default=0)
    options.add_argument("--seconds", type=float, default=inf, help="stop earlier")
    options.add_argument("--folder", type=Path, required=True, help="where the histories are left")
    asked = options.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as scratch, started(Path(scratch)) as (url, system):
        ledger = Ledger(url, asked.folder, proxied=True, timeout=10)
        campaign = Campaign(system, ledger, asked)
        began, failed = time.monotonic(), False
        try:
            ledger.run(CALLERS, campaign.rounds())
        except (
            AssertionError,
            OSError,
            SubprocessError,
        ):  # what the callers saw is judged nevertheless
            traceback.print_exc()
            failed = True
        seconds = time.monotonic() - began
        with system.nodes.wait_until_whole().connect("carts") as fresh:
            found = ledger.audit(fresh)
    print(f"{campaign.done} faults in {seconds:.0f} s; {ledger}; histories in {ledger.folder}")
    for name, outages in sorted(campaign.outages.items()):
        if " + " not in name:
            print(f"  {name}: {len(outages)}, {min(outages):.1f} to {max(outages):.1f} s")
    print("\n".join(found) or "no contradiction")
    return failed or bool(found)


if __name__ == "__main__":
    sys.exit(main())
