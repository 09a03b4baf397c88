"""The README's set-up of one machine, line by line, on a bare Debian with systemd as its init.

Replaced are Certbot, because no authority certifies these names, the addresses of the issuer and of
what the watchdog calls, what createsuperuser asks, and, by a name of its own, the mail server.

    ONE_MACHINE=1 pytest tests/machines/test_one_machine.py -s
"""

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cartsvc import __version__
from tests.machines import mailbox
from tests.machines.booted_machines import (
    Machine,
    blocks,
    booted,
    debian,
    disk,
    execute,
    token,
    values_up,
)
from tests.support import bodies
from tests.support.callers import PROFILE
from tests.support.programs import ROOT, copied, wait_until
from tests.support.tokens import mint

if not os.environ.get("ONE_MACHINE"):
    pytest.skip("it downloads a Debian: set ONE_MACHINE=1", allow_module_level=True)
if os.geteuid() != 0:
    pytest.skip("only root can start a machine", allow_module_level=True)

README = (ROOT / "cartsvc/README.md").read_text()
ALERTS = (ROOT / "cartsvc/ALERTS.md").read_text()
# How the code comes there is left out.
PAPER, UPGRADE, BACKUP, RESTORE, WATCH = (
    blocks(README, section)[block]
    for section, block in (
        ("Production", 0),
        ("Start, stop, upgrade", 0),
        ("Backup and restore", 0),
        ("Backup and restore", 1),
        ("Metrics", 0),
    )
)
WATCHDOG = "https://hc-ping.com"
REPLACED = {
    "apt-get update && ": "",
    "https://issuer.example.com/.well-known/jwks.json": "http://127.0.0.1:8600/jwks.json",
    "cartsvc createsuperuser": "sed 's/-qtP/-qtP -E DJANGO_SUPERUSER_PASSWORD=a-long-pass-word/'"
    " /usr/local/bin/cartsvc |"
    " sh -s createsuperuser --noinput --username=first --email=first@example.com",
}
ANSWERED = reduce(lambda paper, pair: paper.replace(*pair), REPLACED.items(), PAPER)
MAILBOX = """\
echo 127.0.0.1 smtp.example.com >> /etc/hosts
mkdir /root/mailbox
live=/etc/letsencrypt/live/carts.example.com
systemd-run -qu mailbox python3 /opt/mailbox.py /root/mailbox $live/{fullchain,privkey}.pem 587 8700
"""
# Seconds that each part of the evening took.
SPENT: dict[str, int] = {}
UNATTENDED = "export DEBIAN_FRONTEND=noninteractive; cd /srv/cartsvc-*.0.0\n"


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder with a bare Debian, `debian`, and a disk for backups, `backups`."""
    packages = re.findall(r"apt-get install (.*)$", PAPER + BACKUP + WATCH, re.MULTILINE)
    with tempfile.TemporaryDirectory(prefix="cartsvc-", ignore_cleanup_errors=True) as name:
        debian(Path(name, "debian"), packages)
        with disk(Path(name)):
            yield Path(name)


def release(root: Path, version: str = __version__) -> Path:
    folder = copied(root / f"srv/cartsvc-{version}")
    (folder / "cartsvc/__init__.py").write_text(f'__version__ = "{version}"\n')
    return folder


@pytest.fixture(scope="module")
def machine(place: Path) -> Iterator[Machine]:
    """Follow the paper on a bare Debian."""
    with booted(place / "alone", place / "debian", place / "backups") as started:
        root = place / "alone/root"
        release(root)
        release(root, "1.1.0")
        (release(root, "1.2.0") / "carts/urls.py").write_text("1 / 0")
        with (release(root, "1.3.0") / "carts/models/manager.py").open("a") as manager:
            manager.write("\n\ndel CartManager.summaries\n")
        shutil.copy(mailbox.__file__, root / "opt")
        began = time.monotonic()
        assert "Superuser created successfully." in started.run(UNATTENDED + ANSWERED, check=True)
        assert "issuer unreachable" in started.run("curl -s 127.0.0.1:8001/readyz")
        started.run("systemctl start issuer", check=True)
        wait_until(lambda: is_ready(started))
        assert created(started, mint(**token(), profileKey=str(PROFILE))) == "200"
        SPENT["first cart"] = round(time.monotonic() - began)
        yield started


@pytest.fixture(scope="module")
def backed_up(machine: Machine) -> Machine:
    began = time.monotonic()
    machine.run(UNATTENDED + BACKUP, check=True)
    SPENT["backup"] = round(time.monotonic() - began)
    return machine


@pytest.fixture(scope="module")
def watched(backed_up: Machine) -> Machine:
    backed_up.run(MAILBOX, check=True)
    began = time.monotonic()
    backed_up.run(UNATTENDED + WATCH.replace(WATCHDOG, "http://127.0.0.1:8700"), check=True)
    wait_until(lambda: kept(backed_up, "mails"), 120)
    SPENT["mail"] = round(time.monotonic() - began)
    return backed_up


def mailed(machine: Machine) -> set[str]:
    """Return the alerts of which a mail has come."""
    told = "\n".join(mail["text"] for mail in kept(machine, "mails"))
    return set(re.findall(r"^Subject: \[FIRING:\d+\] (\w+)", told, re.MULTILINE))


def created(machine: Machine, bearer: str) -> str:
    """Create a cart through nginx, and return the status."""
    return machine.run(
        f"curl -so /dev/null -w '%{{http_code}}' -H 'Authorization: Bearer {bearer}'"
        f" --json '{json.dumps(bodies.cart())}' https://carts.example.com/v2.0/customers/{PROFILE}/carts"
    )


def kept(machine: Machine, file: str) -> list[dict[str, Any]]:
    """Return the mails or the calls that have come."""
    return [json.loads(line) for line in machine.run(f"cat /root/mailbox/{file}").splitlines()]


READY = "curl -sf 127.0.0.1:8001/readyz && curl -sf 127.0.0.1:8002/readyz"


def is_ready(machine: Machine) -> bool:
    return machine.run(READY) == '{"status": "ok"}' * 2


def test_the_paper_makes_a_machine_that_serves(machine: Machine) -> None:
    assert is_ready(machine)
    assert machine.run("curl -s https://carts.example.com/admin/login/").count("<form") == 1
    # The housekeeping's end takes nothing from the services of the same user.
    machine.run("systemctl start cartsvc-housekeeping.service", check=True)
    assert "cartsvc_info" in machine.run("curl -sf 127.0.0.1:9102/metrics", check=True)
    assert "cartsvc-housekeeping" in machine.run("systemctl list-timers")
    # The site's heading tells that all is well, without what the site answers.
    assert len(machine.run(heading("CartsvcSite"), check=True)) < 9000


def test_it_makes_tokens_until_there_is_an_issuer(machine: Machine) -> None:
    """JWT_SIGNING_KEY, made like SECRET_KEY, in place of four lines."""
    [issue] = re.findall(r"`(cartsvc issue_token .*?)`", README)
    [secret] = re.findall(r"^SECRET_KEY=(.*)$", PAPER, re.MULTILINE)
    assert machine.run("cp /etc/cartsvc.env /root/before; grep -c ^JWT_ /root/before") == "4\n"
    machine.run(
        f"sed -i /^JWT_/d /etc/cartsvc.env\necho JWT_SIGNING_KEY={secret} >> /etc/cartsvc.env\n"
        "systemctl restart cartsvc@{1,2}",
        check=True,
    )
    wait_until(lambda: is_ready(machine))
    bearer = machine.run(issue.replace("…", str(PROFILE)), check=True).strip()
    assert created(machine, bearer) == "200"
    assert created(machine, mint(**token(), profileKey=str(PROFILE))) == "401"
    machine.run("cp /root/before /etc/cartsvc.env; systemctl restart cartsvc@{1,2}", check=True)
    wait_until(lambda: is_ready(machine))


def test_nobody_else_sees_the_secrets(machine: Machine) -> None:
    assert machine.run("stat -c %a-%U /etc/cartsvc.env") == "600-root\n"
    found = re.search("SECRET_KEY=(.*)", machine.run("cat /etc/cartsvc.env"))
    assert found
    told = "journalctl; systemctl show 'cartsvc*'; cat /proc/[0-9]*/cmdline || true"
    assert found[1] not in machine.run(told)
    read = "runuser -u {} -- sh -c 'cat /proc/[0-9]*/environ /etc/cartsvc.env; exit 0'"
    assert found[1] in machine.run(read.format("root"))
    for stranger in ("nobody", "postgres", "www-data", "cartsvc"):
        assert found[1] not in machine.run(read.format(stranger))


# An instance that writes lines, as fast as it can.
LINES = """\
drop_in=/etc/systemd/system/cartsvc@9.service.d
install -D /dev/stdin $drop_in/lines.conf <<'END'
[Service]
Type=oneshot
Restart=no
ExecStartPre=
ExecStart=
ExecStart=/usr/bin/seq 100000
END
systemctl daemon-reload
systemctl start cartsvc@9
journalctl --sync
rm -r $drop_in
systemctl daemon-reload
journalctl -u cartsvc@9 -o cat | grep -cE '^[0-9]+$'
"""


def test_the_journal_has_every_line_of_an_instance(machine: Machine) -> None:
    assert machine.run(LINES, check=True) == "100000\n"


def test_it_comes_up_by_itself_in_any_order(machine: Machine) -> None:
    """All is killed at once, and what needs the database is started long before it."""
    machine.run(
        "systemctl kill -s KILL cartsvc@1 cartsvc@2 postgresql@15-main nginx || true\n"
        "systemctl stop cartsvc@1 cartsvc@2 postgresql@15-main nginx\n"
        "systemctl start nginx; systemctl start --no-block cartsvc@1 cartsvc@2; sleep 20"
    )
    assert machine.run(READY) == ""
    machine.run("systemctl start postgresql@15-main", check=True)
    wait_until(lambda: is_ready(machine), 60)
    # What is killed later is started again.
    killed = "postgresql@15-main nginx"
    ask = f"systemctl show --value -p MainPID {killed}"
    before = set(machine.run(ask).split())
    assert len(before) == 2
    # Beside another machine it says that it failed, though it has killed them.
    machine.run(f"systemctl kill -s KILL {killed} || true")
    wait_until(lambda: not before & set(machine.run(ask).split()))
    wait_until(lambda: machine.run(f"systemctl is-active {killed}") == "active\n" * 2)
    wait_until(lambda: is_ready(machine), 60)


def versions(machine: Machine) -> list[str]:
    said = machine.run("curl -s 127.0.0.1:8001/healthz; curl -s 127.0.0.1:8002/healthz")
    return re.findall(r'"version": "(.*?)"', said)


def test_a_release_goes_forth_and_back(machine: Machine) -> None:
    """The third one does not start, and the fourth one is 500 to all callers."""
    upgrade = UNATTENDED + UPGRADE
    with machine.traffic() as statuses:
        machine.run(upgrade, check=True)
        assert versions(machine) == ["1.1.0"] * 2
        assert machine.run("cartsvc version").strip() == "1.1.0"
        broken = upgrade.replace("1.1.0", "1.2.0").replace("cartsvc-release", "! cartsvc-release")
        machine.run(broken, check=True)
        wait_until(lambda: versions(machine) == ["1.1.0"] * 2 and is_ready(machine), 60)
        assert set(statuses()) == {"200"}
        machine.run(broken.replace("1.2.0", "1.3.0"), check=True)
        wait_until(lambda: versions(machine) == ["1.1.0"] * 2 and is_ready(machine), 60)
        failed = statuses()
        print(f"\n{failed.count('500')} of {len(failed)} answers were a broken release's 500")
        assert set(failed) == {"200", "500"}
        machine.run(f"cartsvc-release {__version__}", check=True)
        assert versions(machine) == [__version__] * 2
        assert set(statuses()[len(failed) :]) == {"200"}


def test_an_issuer_that_is_away_stops_a_release(machine: Machine) -> None:
    before = versions(machine)
    with machine.traffic() as statuses:
        machine.run(f"systemctl stop issuer\n! cartsvc-release {__version__}", check=True)
        assert versions(machine) == before
        assert set(statuses()) == {"200"}
    machine.run("systemctl restart cartsvc@1")
    unready = '{"status": "issuer unreachable"}'
    wait_until(lambda: machine.run("curl -s 127.0.0.1:8001/readyz") == unready, 60)
    assert machine.run("curl -s 127.0.0.1:8002/readyz") == '{"status": "ok"}'
    machine.run("systemctl start issuer", check=True)
    wait_until(lambda: is_ready(machine), 60)


def test_backups_go_on_and_lead_back(backed_up: Machine) -> None:
    assert backed_up.run("systemctl is-active cartsvc-backup.timer") == "active\n"
    kept = "ls /backup/backup/cartsvc | grep -c 'F$'"
    before = int(backed_up.run(kept))
    backed_up.run("systemctl start cartsvc-backup", check=True)
    assert int(backed_up.run(kept)) == before + 1
    count = "runuser -u postgres -- psql -Atd carts -c 'SELECT count(*) FROM auth_user'"
    moment = backed_up.run("sleep 2; date +'%F %T%:z'; sleep 2").strip()
    backed_up.run("runuser -u postgres -- psql -d carts -c 'DELETE FROM auth_user'", check=True)
    assert backed_up.run(count) == "0\n"
    backed_up.run(f"MOMENT='{moment}'\n{RESTORE}", check=True)
    wait_until(lambda: is_ready(backed_up), 60)
    assert backed_up.run(count) == "1\n"
    # What lay there is kept each time.
    for _ in range(2):
        backed_up.run(f"MOMENT=\n{RESTORE}", check=True)
    assert len(backed_up.run("ls -d /var/lib/postgresql/15/before*").split()) == 3
    lost = "systemctl kill -s KILL postgresql@15-main || true\nrm -rf /var/lib/postgresql/15"
    backed_up.run(lost, check=True)
    backed_up.run(f"MOMENT=\n{RESTORE}", check=True)
    wait_until(lambda: is_ready(backed_up), 60)
    assert backed_up.run(count) == "1\n"


def test_an_evening_ends_with_a_mail(watched: Machine) -> None:
    """What a person types, and how long it takes where nothing has to be downloaded."""
    lines = sum(len(block.splitlines()) for block in (PAPER, BACKUP, WATCH))
    minutes = sum(SPENT.values()) / 60
    print(f"\n{lines} lines, {minutes:.1f} minutes; seconds for each part: {SPENT}")
    assert minutes < 15
    assert "status: ok" in watched.run("runuser -u postgres -- pgbackrest info", check=True)
    mail, *_ = kept(watched, "mails")
    assert mail["to"] == ["RCPT TO:<you@example.com>"]
    assert mail["login"] == ["carts@example.com", "…"]
    assert "Subject: [FIRING:1] Try (page)\n" in mail["text"]
    mode = watched.run("stat -c %a-%U-%G /etc/prometheus/alertmanager.yml")
    assert mode == "640-root-prometheus\n"
    before = len(kept(watched, "calls"))
    wait_until(lambda: len(kept(watched, "calls")) > before + 1, 240)
    at = [call["at"] for call in kept(watched, "calls")[-3:]]
    pauses = [round(after - before, 1) for before, after in pairwise(at)]
    print(f"the watchdog called after {pauses} s")
    assert max(pauses) < 90


def test_a_lost_machine_comes_back_on_another(backed_up: Machine, place: Path) -> None:
    """By the five lines, on a copy of its disk, with another number for postgres."""
    lines = README.partition("\nA lost machine:")[2].partition("\nA dump")[0]
    copy, own, timer = re.findall("`((?:install|chown|systemctl) [^`]*)`", lines)
    until, since = ANSWERED.split("certbot certonly")
    certified = re.match(r".*?\ncurl [^\n]*\n", since, re.DOTALL)
    assert certified
    steps = [
        re.sub(r"\(umask .*?\nEND\n", f"{copy}\n", until, flags=re.DOTALL),
        own,
        "".join(BACKUP.splitlines(keepends=True)[:2]),
        f"MOMENT=\n{RESTORE}",
        f"cd /srv/cartsvc\ncertbot certonly{certified[0]}",
        f"{timer}\n{WATCH}",
    ]
    bearer = mint(**token(), profileKey=str(PROFILE))
    assert created(backed_up, bearer) == "200"
    carts = "runuser -u postgres -- psql -Atd carts -c 'SELECT count(*) FROM carts_cart'"
    before = backed_up.run(carts, check=True)
    backed_up.run("runuser -u postgres -- pgbackrest --stanza=cartsvc check", check=True)
    execute("cp", "-a", str(place / "backups"), str(place / "saved"))
    with booted(place / "new", place / "debian", place / "saved") as new:
        release(place / "new/root")
        shutil.copy(place / "alone/root/etc/cartsvc.env", place / "new/root/root")
        new.run('useradd -ru "$(stat -c %u /backup)" stranger', check=True)
        began = time.monotonic()
        new.run(UNATTENDED + "\n".join(steps) + "systemctl start issuer", check=True)
        wait_until(lambda: is_ready(new))
        print(f"\nback after {time.monotonic() - began:.0f} s")
        assert new.run(carts, check=True) == before
        assert created(new, bearer) == "200"
        new.run("runuser -u postgres -- pgbackrest --stanza=cartsvc check", check=True)
        assert new.run("systemctl is-active cartsvc-backup.timer") == "active\n"


# What befalls the machine, and within how many seconds it calls.
FILL = """\
fallocate -l $(df --output=avail -B1 /backup | tail -1) /backup/filler || true
systemctl start cartsvc-backup || true
"""
# From an address: a request too many, and then half heads, as many as there were connections.
ATTACK = """\
cat > /root/attack.py <<'END'
import socket, ssl, time
context = ssl._create_unverified_context()
head = b"POST / HTTP/1.1\\r\\nHost: carts.example.com\\r\\n"
def sent(data):
    try:
        plain = socket.create_connection(("127.0.0.1", 443), 5, ("127.0.0.2", 0))
        connection = context.wrap_socket(plain)
        connection.sendall(data)
        return connection
    except OSError:
        return None
while True:
    held = []  # close the last ones
    held += [sent(head + b"Content-Length: 9\\r\\n\\r\\n") for _ in range(40)]
    held += [sent(head) for _ in range(1700)]
    print(held.count(None), "of 1740 refused", flush=True)
    time.sleep(5)
END
systemd-run -qu attack -p LimitNOFILE=4096 python3 /root/attack.py
"""
[THAW] = re.findall("`(fsfreeze -u .*?)`", ALERTS)
[HOOK] = re.findall("--deploy-hook '(.*?)'", PAPER)
# The files run out, and then the disk answers nobody.
HANG = """\
mkdir /backup/many
(cd /backup/many && seq $(($(df --output=iavail /backup | tail -1) - 2000)) | xargs touch)
fsfreeze -f /backup
"""


class Fault(NamedTuple):
    commands: str
    alerts: dict[str, int]
    remedy: str


def heading(alert: str) -> str:
    """Return the commands of its heading."""
    return blocks(ALERTS, alert)[0]


FAULTS = {
    "first": [
        Fault(
            FILL,
            {"CartsvcArchive": 300, "CartsvcBackup": 420, "CartsvcDisk": 420},
            "rm /backup/filler; systemctl start cartsvc-backup",
        ),
        Fault(
            "systemctl disable --now cartsvc-housekeeping.timer",
            {"CartsvcHousekeeping": 420},
            "systemctl enable --now cartsvc-housekeeping.timer",
        ),
        Fault(
            "systemd-run -qu forgotten"
            " runuser -u postgres -- psql -c 'BEGIN; SELECT pg_sleep(1000)'",
            {"CartsvcTransaction": 780},
            # PostgreSQL sleeps on without its caller.
            "systemctl stop forgotten\n"
            'runuser -u postgres -- psql -c "SELECT pg_terminate_backend(pid)'
            " FROM pg_stat_activity WHERE query LIKE 'BEGIN; SELECT pg_sleep(1000)%'\"",
        ),
    ],
    "second": [
        Fault(HANG, {"CartsvcArchive": 300, "CartsvcDisk": 420}, "rm -r /backup/many"),
        Fault(
            f"echo wrong > /etc/nginx/conf.d/wrong.conf\n! {HOOK}",
            {"CartsvcCertificate": 420},
            f"rm /etc/nginx/conf.d/wrong.conf\n{heading('CartsvcCertificate')}",
        ),
        Fault(
            "systemctl disable --now systemd-timesyncd",
            {"CartsvcClock": 420},
            heading("CartsvcClock"),
        ),
        Fault(ATTACK, {"CartsvcProxy": 300}, "systemctl stop attack"),
    ],
}


@pytest.mark.parametrize("name", FAULTS)
def test_all_is_watched_and_what_befalls_the_machine_calls(watched: Machine, name: str) -> None:
    """Several faults at once, with the shipped times. Others are served, and each alert ends."""
    ask = "curl -sG 127.0.0.1:9090/api/v1/query --data-urlencode 'query={}'"
    up = ask.format('{__name__=~"up|probe_success"} == 1')
    wanted_up = values_up((ROOT / "cartsvc/deploy/prometheus.yml").read_text())
    wait_until(lambda: watched.run(up).count('"value"') == wanted_up, 90)

    called: dict[str, int] = {}
    began = time.monotonic()

    def calling() -> set[str]:
        told = json.loads(watched.run("curl -s 127.0.0.1:9093/api/v2/alerts"))
        return {alert["labels"]["alertname"] for alert in told}

    def call() -> set[str]:
        """Look who calls, and return who has called since then."""
        for alert in calling():
            called.setdefault(alert, int(time.monotonic() - began))
        return set(called)

    def is_silent() -> bool:
        return calling() - {"Try"} == {"CartsvcWatchdog"}

    wait_until(is_silent, 900)  # others may go before
    wanted = {alert: at for fault in FAULTS[name] for alert, at in fault.alerts.items()}
    bearer = mint(**token(), profileKey=str(PROFILE))
    with watched.traffic() as statuses:
        try:
            watched.run("\n".join(fault.commands for fault in FAULTS[name]), check=True)
            began = time.monotonic()
            assert created(watched, bearer) == "200"
            wait_until(lambda: call() >= wanted.keys(), 900)
            print(f"\n{called}")
            wait_until(lambda: mailed(watched) >= wanted.keys())  # none, of what has ended by then
            looked = watched.run(heading("CartsvcArchive"))
            # Whatever the priority that stands behind it.
            assert bool(re.search("^D", looked, re.MULTILINE)) == (name == "second")
        finally:
            # What is frozen would keep the machine from its end.
            watched.run(THAW)
        watched.run("\n".join(fault.remedy for fault in FAULTS[name]), check=True)
        assert set(statuses()) == {"200"}
    late = {alert for alert, at in wanted.items() if called[alert] > at}
    assert (called.keys() - wanted.keys() - {"CartsvcWatchdog", "Try"}, late) == (set(), set())
    wait_until(is_silent, 600)
