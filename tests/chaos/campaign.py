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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import Popen, SubprocessError, TimeoutExpired

import psycopg

from tests.chaos.nodes import Node, Nodes, three_nodes
from tests.chaos.proxies import haproxy
from tests.chaos.recorded_callers import Ledger
from tests.chaos.servers import (
    CLOCKS,
    Service,
    is_ready,
    service,
    session_limits,
    with_clock,
)
from tests.support.poolers import Pooler, pooled
from tests.support.programs import ROOT, accepts, free_port, running, send, wait_until

CALLERS = 8
HOLD_SECONDS = (1.0, 5.0)

# No worker, primary or synchronous standby is there at the moment.
NOT_MADE = (AssertionError, IndexError, OSError, StopIteration, psycopg.Error)


@dataclass
class System:
    """All that can fail."""

    url: str
    nodes: Nodes
    wire: Popen[bytes]
    pooler: Pooler
    instances: list[Service]
    clock: Path

    def worker(self) -> int:
        return random.choice([pid for each in self.instances for pid in each.workers()])


# A fault, and in the stack what mends it, unless it comes back by itself.
Begin = Callable[[System, ExitStack], object]


def freeze(pid: int, after: ExitStack) -> None:
    os.kill(pid, signal.SIGSTOP)
    after.callback(send, signal.SIGCONT, pid)  # an upgrade may have ended it


def kill_the_pooler(system: System, after: ExitStack) -> None:
    system.pooler.kill()
    after.callback(system.pooler.start)


def slow_the_network(system: System, after: ExitStack) -> None:
    system.wire.send_signal(signal.SIGUSR1)
    after.callback(system.wire.send_signal, signal.SIGUSR1)


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


def step_a_clock(system: System, after: ExitStack) -> None:
    """Step the clock of an instance that has one only as long, because it doubles the work."""
    instance = random.choice(system.instances)
    after.callback(restart, instance, LD_PRELOAD="")
    restart(instance, **with_clock(system.clock))
    after.callback(time.sleep, 2)  # it is read once a second
    after.callback(system.clock.write_text, "+0")
    time.sleep(1)
    system.clock.write_text(random.choice(["-600", "-20", "+20", "+600"]))


def upgrade(system: System, _after: ExitStack) -> None:
    """Migrate and restart one instance after the other."""
    for instance in system.instances:
        restart(instance)


def terminate_connections(system: System, _after: ExitStack) -> None:
    with system.nodes.wait_for_primary().connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'carts'"
        )


def of_primary(begin: Callable[[Node, ExitStack], object]) -> Begin:
    """Return a fault of the primary, which is over when there is another one."""

    def fault(system: System, after: ExitStack) -> None:
        primary = system.nodes.wait_for_primary()
        begin(primary, after)
        system.nodes.wait_for_primary(primary)

    return fault


def lose(node: Node, after: ExitStack) -> None:
    node.lose()
    after.callback(node.start)


def freeze_all(node: Node, after: ExitStack) -> None:
    after.callback(node.send, signal.SIGCONT)
    node.send(signal.SIGSTOP)


def switch_over(primary: Node, _after: ExitStack) -> None:
    # It refuses as long as the standby has not caught up.
    wait_until(lambda: primary.post("switchover", {"leader": primary.name}).ok)


def restart_the_primary(system: System, _after: ExitStack) -> None:
    assert system.nodes.wait_for_primary().post("restart", {}).ok


COMMITS = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def cancel_commits(primary: Node, after: ExitStack) -> None:
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
    lose(primary, after)


@dataclass
class Fault:
    subject: str
    begin: Begin


FAULTS = {
    "worker killed": Fault("worker", lambda system, _: os.kill(system.worker(), signal.SIGKILL)),
    "worker frozen": Fault("worker", lambda system, after: freeze(system.worker(), after)),
    "pooler killed": Fault("pooler", kill_the_pooler),
    "pooler frozen": Fault(
        "pooler", lambda system, after: freeze(system.pooler.process.pid, after)
    ),
    # As on a network, nobody learns of it.
    "network cut": Fault("network", lambda system, after: freeze(system.wire.pid, after)),
    "network slow": Fault("network", slow_the_network),
    "clock stepped": Fault("instances", step_a_clock),
    "upgrade": Fault("instances", upgrade),
    "connections terminated": Fault("connections", terminate_connections),
    "PostgreSQL killed": Fault("nodes", of_primary(lambda node, _: node.kill_postgresql())),
    "primary lost": Fault("nodes", of_primary(lose)),
    "primary frozen": Fault("nodes", of_primary(freeze_all)),
    "primary restarted": Fault("nodes", restart_the_primary),
    "switched over": Fault("nodes", of_primary(switch_over)),
    "standby lost": Fault("nodes", lambda system, after: lose(system.nodes.synchronous(), after)),
    "standby frozen": Fault(
        "nodes", lambda system, after: freeze_all(system.nodes.synchronous(), after)
    ),
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
        port, wired = free_port(), free_port()
        ports = {"postgresql": nodes.postgresql_port, "patroni": nodes.patroni_port}
        balanced = enter(haproxy(cartsvc=port, **ports))
        direct = nodes.url(balanced.primary)
        # Until it has asked them for the first time, HAProxy takes every node for the primary.
        wait_until(lambda: all(answers(direct) for _ in range(2 * len(nodes.all))))
        with psycopg.connect(direct, autocommit=True) as connection:
            connection.execute(session_limits("postgres"))
        command = [sys.executable, "-m", "tests.chaos.slow_network", wired, balanced.primary]
        wire = enter(running(command, lambda: accepts(wired), cwd=ROOT))
        pooler = enter(pooled(nodes.url(f"127.0.0.1:{wired}")))
        url = pooler.variables["DATABASE_URL"]
        instances = [
            enter(service(url, DATABASE_ADMIN_URL=direct, BIND=f"127.0.0.{number}:{port}"))
            for number in (2, 3)
        ]
        wait_until(lambda: is_ready(balanced.url))
        yield System(balanced.url, nodes, wire, pooler, instances, Path(folder, "clock"))


def answers(url: str) -> bool:
    with suppress(psycopg.OperationalError):
        psycopg.connect(url).close()
        return True
    return False


class Campaign:
    """Faults of all kinds under the callers of a ledger, and how long none of them could write."""

    def __init__(self, system: System, ledger: Ledger) -> None:
        self.system, self.ledger = system, ledger
        self.done = 0
        self.kinds = [name for name in FAULTS if CLOCKS or name != "clock stepped"]

    def rounds(self, faults: int, operations: int) -> Iterator[Callable[[], None]]:
        """Yield each kind as often as the others, half of them two at once, until it is enough."""
        waiting = list[str]()
        while self.done < faults or self.ledger.attempts < operations:
            waiting = waiting or random.sample(self.kinds, len(self.kinds))
            names = [waiting.pop()]
            others = [n for n in waiting if FAULTS[n].subject != FAULTS[names[0]].subject]
            if others and random.random() < 0.5:
                names.append(random.choice(others))
                waiting.remove(names[1])
            yield partial(self.strike, *names)
            # The callers do their share for the faults so far.
            while self.ledger.attempts < min(self.done / faults, 1) * operations:
                self.ledger.wait_for_progress()

    def strike(self, *names: str) -> None:
        """Let these faults happen at once, mend them, and wait until writes pass again."""
        # An upgrade takes its time and must come last. A terminated node must be looked for first.
        names = tuple(sorted(names, key=lambda n: (n == "upgrade", ALL[n].subject != "nodes")))
        if any(ALL[name].subject in {"nodes", "connections"} for name in names):
            self.system.nodes.wait_until_whole()
            self.ledger.wait_for_progress()
        began = time.monotonic()
        self.ledger.dirty_reads = CANCELLED in names
        with ExitStack() as after:
            for name in names:
                try:
                    ALL[name].begin(self.system, after)
                    self.done += 1
                except NOT_MADE as error:
                    print(f"     {name} could not be made: {error!r}"[:200])
            self.ledger.dirty_reads = False
            time.sleep(random.uniform(*HOLD_SECONDS))
        try:
            self.ledger.wait_for_progress(60)
        except AssertionError:
            # Nothing is acknowledged as long as no standby follows the new primary.
            self.system.nodes.wait_until_whole()
            self.ledger.wait_for_progress()
        print(
            f"{self.done:4} {' and '.join(names)}: "
            f"{self.ledger.longest_pause(began):.1f} s without a write; "
            f"{self.ledger.attempts} attempts so far",
            flush=True,
        )


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--faults", type=int, default=100)
    options.add_argument("--operations", type=int, default=0)
    options.add_argument("--folder", type=Path, required=True, help="where the histories are left")
    asked = options.parse_args()
    logging.disable(logging.WARNING)
    with started() as system:
        ledger = Ledger(system.url, asked.folder, timeout=10)
        campaign = Campaign(system, ledger)
        began, failed = time.monotonic(), False
        try:
            ledger.run(CALLERS, campaign.rounds(asked.faults, asked.operations))
        except (AssertionError, OSError, SubprocessError):  # what was seen is judged nevertheless
            traceback.print_exc()
            failed = True
        seconds = time.monotonic() - began
        with system.nodes.wait_until_whole().connect("carts") as fresh:
            found = ledger.audit(fresh)
    print(f"{campaign.done} faults in {seconds:.0f} s; {ledger}; histories in {ledger.folder}")
    print("\n".join(found) or "no contradiction")
    return failed or bool(found)


if __name__ == "__main__":
    sys.exit(main())
