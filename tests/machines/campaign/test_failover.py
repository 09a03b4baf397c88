"""Failovers and other faults under load: the callers' histories have no contradiction.

Each fault happens once. In the campaign, which is the long form, faults happen one after another
and two at once, until there were so many and callers have made so many attempts:

    FAULTS=100 ATTEMPTS=1000000 pytest tests/machines/campaign -s -k acknowledged
"""

import os
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


LONG, ATTEMPTS = int(os.environ.get("FAULTS", "0")), int(os.environ.get("ATTEMPTS", "0"))


def strike_each(system: System, recorded: RecordedCallers, *names: str, long: int = 0) -> None:
    """Let these faults happen, or so many, and check that they did and what was seen."""
    campaign = Campaign(system, recorded)
    each = [partial(campaign.strike, name) for name in names]
    print()
    recorded.run(6, campaign.rounds(long, ATTEMPTS) if long else each)
    with system.nodes.wait_until_whole().connect("carts") as fresh:
        assert recorded.audit(fresh) == []
    print(recorded)
    assert campaign.done >= (long or len(names))
    # Whatever happens to the database, there is an end: on a machine of which nobody knows how
    # busy it is, that is all that can be said.
    assert recorded.slowest < 60


def test_nothing_acknowledged_is_lost(system: System, tmp_path: Path) -> None:
    """A back end that follows is told each change once, and in order."""
    recorded = RecordedCallers(system.url, tmp_path, timeout=10, follow=True)
    strike_each(system, recorded, *FAULTS, long=LONG)


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
