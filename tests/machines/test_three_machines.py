"""Three machines, as their page makes them: a primary is lost, a release goes, a backup comes back.

THREE_MACHINES=1 pytest tests/machines/test_three_machines.py -n 0 -p no:randomly -s
"""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.machines.booted_machines import LINK, execute, values_up
from tests.machines.campaign.recorded_caller import UNKNOWN
from tests.machines.campaign.recorded_callers import RecordedCallers
from tests.machines.three_machines import (
    DATA,
    NODES,
    PAGE,
    PREPARED,
    RESTORE,
    UPGRADE,
    WATCH,
    WATCH_OF_ONE,
    Machines,
    inline,
    three_machines,
)
from tests.support.programs import ROOT, wait_until

if not os.environ.get("THREE_MACHINES"):
    pytest.skip("it boots five machines: set THREE_MACHINES=1", allow_module_level=True)
if os.geteuid() != 0:
    pytest.skip("only root can start a machine", allow_module_level=True)


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with three_machines() as made:
        yield made


def measured(
    machines: Machines, recorded: RecordedCallers, faults: dict[str, Callable[[], None]]
) -> None:
    """Print what callers saw of each fault, and check that nothing acknowledged was lost."""

    def strike(name: str, fault: Callable[[], None]) -> None:
        began, writes, statuses = time.monotonic(), len(recorded.writes), recorded.statuses.copy()
        fault()
        recorded.wait_for_progress(300)
        answers = recorded.statuses - statuses
        print(
            f"{name}: {len(recorded.writes) - writes} writes acknowledged in "
            f"{time.monotonic() - began:.0f} s, none for {recorded.longest_pause(began):.1f} s; "
            f"{sum(answers[status] for status in UNKNOWN)} of {answers.total()} requests failed",
            flush=True,
        )

    recorded.run(4, [partial(strike, *fault) for fault in faults.items()])
    with machines.connect() as connection:
        assert recorded.audit(connection) == []
    print(f"{recorded}; nothing was lost")


def test_a_primary_goes_in_four_ways(machines: Machines) -> None:
    recorded = machines.callers()

    def switch_over() -> None:
        machines.say("node1", "cartsvc-patronictl switchover cartsvc --force")
        machines.wait_until_whole()

    def cut_off() -> None:
        primary = machines.with_role("Leader")
        execute("ip", "link", "set", LINK.format(primary), "down")
        wait_until(lambda: "Leader" in machines.listed(primary).values(), 300)
        recorded.wait_for_progress(300)
        execute("ip", "link", "set", LINK.format(primary), "up")
        machines.wait_until_whole(primary)

    def kill(*, disk: bool = False) -> None:
        primary = machines.with_role("Leader")
        machines.all[primary].kill()
        recorded.wait_for_progress(300)
        if disk:
            machines.replace(primary, next(name for name in NODES if name != primary))
        else:
            machines.all[primary].start()
        machines.wait_until_whole(primary)

    killed = {"killed": kill, "killed, its disk lost": partial(kill, disk=True)}
    measured(machines, recorded, {"switchover": switch_over, "cut off": cut_off} | killed)


def test_an_upgrade_and_back_fails_no_request(machines: Machines) -> None:
    machines.each(PREPARED)
    recorded = machines.callers()

    def run_release(block: str) -> None:
        for name in NODES:
            machines.say(name, block)

    back = UPGRADE.replace("1.1.0", "1.0.0")
    releases = {"upgrade": partial(run_release, UPGRADE), "back": partial(run_release, back)}
    measured(machines, recorded, releases)
    assert not UNKNOWN & recorded.statuses.keys()


def test_a_backup_leads_back(machines: Machines) -> None:
    """All carts are deleted, and come back by way of the spare machine."""
    recorded = machines.callers()
    measured(machines, recorded, {"writes": partial(recorded.wait_for_progress, 300)})
    moment = machines.all["node1"].run("sleep 2; date +'%F %T%:z'; sleep 2").strip()
    with machines.connect() as connection:
        connection.execute("TRUNCATE carts_cart CASCADE")
    began = time.monotonic()
    for name in NODES:
        machines.say(name, "systemctl stop cartsvc@1")
    check = inline(PAGE, "runuser -u postgres -- pgbackrest")
    machines.say(machines.with_role("Leader"), check)
    machines.say("spare", f"MOMENT='{moment}'\n{RESTORE}")
    dump = machines.place / "spare/root/var/lib/postgresql/carts.dump"
    shutil.copy(dump, machines.place / "node1/root/var/lib/postgresql")
    fresh = f"carts_{time.monotonic_ns()}"
    role = re.search(r"CREATE ROLE .*?;", DATA)
    assert role
    data = re.sub(r"DATABASE carts|dbname=carts", rf"\g<0>{fresh[5:]}", DATA.replace(role[0], ""))
    machines.say("node1", data)
    machines.each(
        f"sed -i 's#/carts[_0-9]*?#/{fresh}?#' /etc/cartsvc.env; systemctl start cartsvc@1"
    )
    again = machines.callers()
    measured(machines, again, {"again": partial(again.wait_for_progress, 300)})
    print(f"restored after {time.monotonic() - began:.0f} s")
    # Who began anew knows the restored carts, too.
    recorded.followed = again.followed
    with machines.connect() as connection:
        assert recorded.audit(connection) == []


# 300 MB of WAL.
WRITE = """\
runuser -u postgres -- psql -h /var/lib/postgresql -Atc "SELECT count(
  pg_logical_emit_message(false, 'x', repeat('x', 1000000))) FROM generate_series(1, 300)"
"""


def test_what_befalls_three_machines_calls(machines: Machines) -> None:
    """With the shipped files and times."""
    machines.each(WATCH)
    three = (ROOT / "cartsvc/deploy/prometheus-three.yml").read_text()
    fill = "\n".join(re.findall("^#   (.*)$", three, re.MULTILINE))
    timer = "systemctl enable --now cartsvc-postgresql-metrics.timer"
    watch = f"cd /srv/cartsvc\n{WATCH_OF_ONE}".replace(timer, f"(cd cartsvc/deploy\n{fill})")
    machines.say("front", watch)
    ask = "curl -sG 127.0.0.1:9090/api/v1/query --data-urlencode 'query={}'"
    up = ask.format('{__name__=~"up|probe_success"} == 1')
    wanted = values_up(three)
    wait_until(lambda: machines.all["front"].run(up).count('"value"') == wanted, 300)

    def calling() -> set[str]:
        told = machines.all["front"].run("curl -s 127.0.0.1:9093/api/v2/alerts")
        told = told or '[{"labels": {"alertname": "not reached"}}]'
        return {alert["labels"]["alertname"] for alert in json.loads(told)}

    def calls(alert: str) -> None:
        began = time.monotonic()
        wait_until(lambda: alert in calling(), 900)
        print(f"{alert} after {time.monotonic() - began:.0f} s, beside {calling() - {alert}}")

    def is_silent() -> bool:
        # The clock is that of the machine below, which may be anything, and no mail arrives.
        return calling() <= {"CartsvcClock", "CartsvcWatchdog"}

    wait_until(is_silent, 900)
    leader = machines.with_role("Leader")
    late = machines.all[machines.with_role("Replica")]
    # Patroni resumes a replay that is paused.
    late.run("pkill -STOP -f 'postgres: .*startup'", check=True)
    machines.say(leader, WRITE)
    calls("CartsvcLag")
    late.run("pkill -CONT -f 'postgres: .*startup'", check=True)
    wait_until(is_silent, 900)

    gone = machines.all[machines.with_role("Replica")]
    gone.kill()
    calls("CartsvcMember")
    gone.start()
    machines.wait_until_whole()
    wait_until(is_silent, 900)

    standbys = [name for name, role in machines.listed().items() if role != "Leader"]
    for name in standbys:
        machines.say(name, "systemctl stop patroni")
    calls("CartsvcStandby")
    for name in standbys:
        machines.say(name, "systemctl start patroni")
    machines.wait_until_whole()
    wait_until(is_silent, 900)
