"""Failovers and other faults under load: the callers' histories have no contradiction.

Each fault of the campaign, which is the long form, happens once.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.machines.campaign.faults import CANCELLED, FAULTS, System
from tests.machines.campaign.recorded_callers import RecordedCallers
from tests.machines.campaign.rounds import Campaign, started
from tests.machines.servers import service


@pytest.fixture(scope="module")
def system() -> Iterator[System]:
    with started() as running:
        yield running


def strike_each(system: System, recorded: RecordedCallers, *names: str) -> None:
    """Let these faults happen, and check that each did and what was seen."""
    campaign = Campaign(system, recorded)
    print()
    recorded.run(6, [partial(campaign.strike, name) for name in names or FAULTS])
    with system.nodes.wait_until_whole().connect("carts") as fresh:
        assert recorded.audit(fresh) == []
    print(recorded)
    assert campaign.done == len(names or FAULTS)
    # Whatever happens to the database, there is an end: on a machine of which nobody knows how
    # busy it is, that is all that can be said.
    assert recorded.slowest < 60


def test_nothing_acknowledged_is_lost(system: System, tmp_path: Path) -> None:
    """A back end that follows is told each change once, and in order."""
    strike_each(system, RecordedCallers(system.url, tmp_path, timeout=10, follow=True))


def test_commits_that_are_cancelled(system: System, tmp_path: Path) -> None:
    strike_each(system, RecordedCallers(system.url, tmp_path, timeout=10), CANCELLED)


def test_a_frozen_primary_without_haproxy(system: System, tmp_path: Path) -> None:
    """The callers repeat a 404 as well, and what they read may be out of date.

    A primary that thaws takes itself for the primary until Patroni demotes it. HAProxy sends
    nobody there. Without it, callers may reach it. It acknowledges no change, but it does not
    know the carts that are younger.
    """
    with service(system.nodes.url()) as server:
        strike_each(system, RecordedCallers(server.url, tmp_path, stale=True), "primary frozen")
