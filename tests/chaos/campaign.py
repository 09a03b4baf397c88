"""Faults under load, one after another and two at once, and a verdict on what the callers saw.

    python -m tests.chaos.campaign --faults 100 --operations 1000000 --folder /tmp/histories

Etcd, three nodes of Patroni with one synchronous standby, HAProxy, a network that can be cut,
PgBouncer, two instances and eight callers. With Debian's package faketime, an instance gets a clock
that is stepped, and back.
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
from functools import partial
from math import inf
from pathlib import Path
from subprocess import SubprocessError, TimeoutExpired

import psycopg

from tests.chaos.ledger import Ledger
from tests.chaos.nodes import Node, Nodes, three_nodes
from tests.chaos.proxies import haproxy
from tests.chaos.servers import (
    CLOCKS,
    Service,
    is_ready,
    service,
    session_limits,
    with_clock,
)
from tests.chaos.wire import Wire, wire
from tests.support.poolers import Pooler, pooled
from tests.support.programs import free_port, send, wait_until

CALLERS = 8
HOLD_SECONDS = (1.0, 5.0)

# No worker, primary or synchronous standby is there at the moment.
NOT_MADE = (AssertionError, IndexError, OSError, StopIteration, psycopg.Error)

Mend = Callable[[], object]


@dataclass
class System:
    """All that can fail."""

    url: str
    nodes: Nodes
    wire: Wire
    pooler: Pooler
    instances: list[Service]
    clock: Path

    def worker(self) -> int:
        return random.choice([pid for each in self.instances for pid in each.workers()])


def nothing() -> None:
    """Mend nothing: it comes back by itself."""


def kill_a_worker(system: System) -> Mend:
    os.kill(system.worker(), signal.SIGKILL)
    return nothing


def stop(pid: int) -> Mend:
    os.kill(pid, signal.SIGSTOP)
    return partial(send, signal.SIGCONT, pid)  # an upgrade may have ended it


def kill_the_pooler(system: System) -> Mend:
    system.pooler.kill()
    return system.pooler.start


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
        send(signal.SIGKILL, instance.process.pid, *workers)
        instance.process.wait()
    instance.env |= env

    def starts() -> bool:
        with suppress(AssertionError):
            instance.manage("migrate", "--verbosity=0")
            instance.start()
            return True
        return False

    wait_until(starts, 120)


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
    return nothing


def terminate_connections(system: System) -> Mend:
    with system.nodes.wait_for_primary().connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'carts'"
        )
    return nothing


def of_primary(begin: Callable[[Node], Mend]) -> Callable[[System], Mend]:
    """Return a fault of the primary, which is over when there is another one."""

    def fault(system: System) -> Mend:
        primary = system.nodes.wait_for_primary()
        mend = begin(primary)
        system.nodes.wait_for_primary(primary)
        return mend

    return fault


def kill_postgresql(node: Node) -> Mend:
    os.kill(node.postgres()[0], signal.SIGKILL)
    return nothing


def lose(node: Node) -> Mend:
    node.lose()
    return node.start


def freeze(node: Node) -> Mend:
    node.send(signal.SIGSTOP)
    return partial(node.send, signal.SIGCONT)


def switch_over(primary: Node) -> Mend:
    # It refuses as long as the standby has not caught up.
    wait_until(lambda: primary.post("switchover", {"leader": primary.name}).ok, 60)
    return nothing


def restart_the_primary(system: System) -> Mend:
    assert system.nodes.wait_for_primary().post("restart", {}).ok
    return nothing


COMMITS = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def cancel_commits(primary: Node) -> Mend:
    """Cancel commits that wait for their standby, and lose the only node that has them."""
    with primary.connect() as connection:

        def one_waits() -> bool:
            # Freeze what sends the log, again and again: standbys that hear nothing come back.
            for (sender,) in connection.execute("SELECT pid FROM pg_stat_replication"):
                os.kill(sender, signal.SIGSTOP)
            return bool(connection.execute(f"SELECT pid {COMMITS}").fetchone())

        for _ in range(3):
            wait_until(one_waits)
            connection.execute(f"SELECT pg_cancel_backend(pid) {COMMITS}")
    return lose(primary)


@dataclass
class Fault:
    subject: str
    begin: Callable[[System], Mend]


FAULTS = {
    "worker killed": Fault("worker", kill_a_worker),
    "worker frozen": Fault("worker", lambda system: stop(system.worker())),
    "pooler killed": Fault("pooler", kill_the_pooler),
    "pooler frozen": Fault("pooler", lambda system: stop(system.pooler.process.pid)),
    "network cut": Fault("network", cut_the_network),
    "network slow": Fault("network", slow_the_network),
    "clock stepped": Fault("instances", step_a_clock),
    "upgrade": Fault("instances", upgrade),
    "connections terminated": Fault("connections", terminate_connections),
    "PostgreSQL killed": Fault("nodes", of_primary(kill_postgresql)),
    "primary lost": Fault("nodes", of_primary(lose)),
    "primary frozen": Fault("nodes", of_primary(freeze)),
    "primary restarted": Fault("nodes", restart_the_primary),
    "switched over": Fault("nodes", of_primary(switch_over)),
    "standby lost": Fault("nodes", lambda system: lose(system.nodes.synchronous())),
    "standby frozen": Fault("nodes", lambda system: freeze(system.nodes.synchronous())),
}
# It happens alone only, because it needs commits that pass.
CANCELLED = "commits cancelled, primary lost"
ALL = {**FAULTS, CANCELLED: Fault("nodes", of_primary(cancel_commits))}


@contextmanager
def started() -> Iterator[System]:
    with ExitStack() as stack:
        enter = stack.enter_context
        folder = enter(tempfile.TemporaryDirectory())
        nodes = enter(three_nodes())
        port = free_port()
        ports = {"postgresql": nodes.postgresql_port, "patroni": nodes.patroni_port}
        balanced = enter(haproxy(cartsvc=port, **ports))
        direct = nodes.url(balanced.primary)
        # Until it has asked them for the first time, HAProxy takes every node for the primary.
        wait_until(lambda: all(accepts(direct) for _ in range(2 * len(nodes.all))))
        with psycopg.connect(direct, autocommit=True) as connection:
            connection.execute(session_limits("postgres"))
        network = enter(wire(balanced.primary))
        pooler = enter(pooled(nodes.url(f"127.0.0.1:{network.port}")))
        url = pooler.variables["DATABASE_URL"]
        instances = [
            enter(service(url, DATABASE_ADMIN_URL=direct, BIND=f"127.0.0.{number}:{port}"))
            for number in (2, 3)
        ]
        wait_until(lambda: is_ready(balanced.url), 60)
        yield System(balanced.url, nodes, network, pooler, instances, Path(folder, "clock"))


def accepts(url: str) -> bool:
    with suppress(psycopg.OperationalError):
        psycopg.connect(url).close()
        return True
    return False


class Campaign:
    """Faults of all kinds under the callers of a ledger, and how long none of them could write."""

    def __init__(self, system: System, ledger: Ledger) -> None:
        self.system, self.ledger = system, ledger
        self.outages: dict[str, list[float]] = defaultdict(list)
        self.done = 0
        self.kinds = [name for name in FAULTS if CLOCKS or name != "clock stepped"]

    def rounds(self, faults: int, operations: int, seconds: float) -> Iterator[Callable[[], None]]:
        """Yield each kind as often as the others, half of them two at once, until it is enough."""
        until, waiting = time.monotonic() + seconds, list[str]()

        def enough() -> bool:
            done = self.done >= faults and self.ledger.attempts >= operations
            return done or time.monotonic() > until

        while not enough():
            if not waiting:
                waiting = random.sample(self.kinds, len(self.kinds))
            names = [waiting.pop()]
            others = [n for n in waiting if FAULTS[n].subject != FAULTS[names[0]].subject]
            if others and random.random() < 0.5:
                names.append(random.choice(others))
                waiting.remove(names[1])
            yield lambda names=names: self.strike(*names)
            # The callers do their share for the faults so far.
            while self.ledger.attempts < self.done * operations / faults and not enough():
                time.sleep(1)

    def strike(self, *names: str) -> None:
        """Let these faults happen at once, mend them, and wait until writes pass again."""
        # An upgrade takes its time and must come last. A terminated node must be looked for first.
        names = tuple(sorted(names, key=lambda n: (n == "upgrade", ALL[n].subject != "nodes")))
        if any(ALL[name].subject in {"nodes", "connections"} for name in names):
            self.system.nodes.wait_until_whole()
            self.ledger.wait_for_progress()
        began, mends = time.monotonic(), list[Mend]()
        self.ledger.dirty_reads = CANCELLED in names
        try:
            for name in names:
                try:
                    mends.append(ALL[name].begin(self.system))
                    self.done += 1
                except NOT_MADE as error:
                    print(f"     {name} could not be made: {error!r}"[:200])
            self.ledger.dirty_reads = False
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
    with started() as system:
        ledger = Ledger(system.url, asked.folder, timeout=10)
        campaign = Campaign(system, ledger)
        began, failed = time.monotonic(), False
        try:
            ledger.run(CALLERS, campaign.rounds(asked.faults, asked.operations, asked.seconds))
        except (AssertionError, OSError, SubprocessError):  # what was seen is judged nevertheless
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
