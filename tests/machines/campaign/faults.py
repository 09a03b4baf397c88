"""The faults of a campaign: what each does to the system, and how it is mended."""

import os
import random
import signal
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from subprocess import Popen, TimeoutExpired

from tests.machines.patroni_nodes import Node, Nodes
from tests.machines.servers import Service
from tests.support.poolers import Pooler
from tests.support.programs import signal_all, wait_until


@dataclass
class System:
    """All that can fail."""

    url: str
    nodes: Nodes
    network: Popen[bytes]
    pooler: Pooler
    instances: list[Service]

    def worker(self) -> int:
        return random.choice([pid for each in self.instances for pid in each.workers()])


# A fault, and in the stack what mends it, unless it comes back by itself.
Begin = Callable[[System, ExitStack], object]


def freeze(pid: int, after: ExitStack) -> None:
    os.kill(pid, signal.SIGSTOP)
    after.callback(signal_all, signal.SIGCONT, pid)  # an upgrade may have ended it


def kill_the_pooler(system: System, after: ExitStack) -> None:
    system.pooler.kill()
    after.callback(system.pooler.start)


def slow_the_network(system: System, after: ExitStack) -> None:
    system.network.send_signal(signal.SIGUSR1)
    after.callback(system.network.send_signal, signal.SIGUSR1)


def restart(instance: Service) -> None:
    """Stop an instance, migrate and start it, again while the database is away."""
    workers = instance.workers()
    try:
        instance.stop()
    except TimeoutExpired:  # a frozen worker does not end; systemd kills it, too
        signal_all(signal.SIGKILL, instance.process.pid, *workers)
        instance.process.wait()

    def starts() -> bool:
        with suppress(AssertionError):
            instance.manage("migrate", "--verbosity=0")
            instance.start()
            return True
        return False

    wait_until(starts, 120)


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
    subject: str  # of two faults at once, each has another
    begin: Begin


FAULTS = {
    "worker killed": Fault("worker", lambda system, _: os.kill(system.worker(), signal.SIGKILL)),
    "worker frozen": Fault("worker", lambda system, after: freeze(system.worker(), after)),
    "pooler killed": Fault("pooler", kill_the_pooler),
    "pooler frozen": Fault(
        "pooler", lambda system, after: freeze(system.pooler.process.pid, after)
    ),
    # As on a network, nobody learns of it.
    "network cut": Fault("network", lambda system, after: freeze(system.network.pid, after)),
    "network slow": Fault("network", slow_the_network),
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
