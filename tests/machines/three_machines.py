"""Three machines, set up block by block by their page from bare Debians, in a network of their own.

They are the three, one with nginx and Prometheus, and a spare one. Replaced are Certbot and
the issuer's address, as on one machine, and what the page leaves to its reader: addresses and
passwords. /backup is a folder of the machine that runs the tests.
"""

import json
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.machines.booted_machines import (
    HOST,
    Machine,
    bare_disk,
    blocks,
    debian,
    execute,
    networked,
    token,
)
from tests.machines.campaign.recorded_callers import RecordedCallers
from tests.support import bodies
from tests.support.callers import HttpApi
from tests.support.programs import ROOT, copied, wait_until

NODES = {f"node{number}": f"10.0.0.{number}" for number in (1, 2, 3)}
FRONT, SPARE = "10.0.0.9", "10.0.0.8"
PAGE = (ROOT / "cartsvc/deploy/README.md").read_text()
ONE_PAGE = (ROOT / "cartsvc/README.md").read_text()
EACH, PATRONI, DATA, SETTINGS, NGINX, BACKUP, RESTORE, WATCH, UPGRADE, LOST = blocks(
    PAGE, "From one machine to three"
)
PRODUCTION = blocks(ONE_PAGE, "Production")[0].replace(
    "https://issuer.example.com/.well-known/jwks.json", "http://127.0.0.1:8600/jwks.json"
)
PRODUCTION = re.sub("apt-get update && |cartsvc createsuperuser", "", PRODUCTION)
COMMON = PRODUCTION.partition("runuser -u postgres")[0]
CERTIFIED = "certbot" + PRODUCTION.partition("\ncertbot")[2]
BACKUP_OF_ONE, _, DUMP = blocks(ONE_PAGE, "Backup and restore")
BACKUP_ON_EACH, BACKUP_ONCE = BACKUP.split("\n\n")
PREPARED = blocks(ONE_PAGE, "Start, stop, upgrade")[0].partition(" && cartsvc-release")[0]
WATCH_OF_ONE = blocks(ONE_PAGE, "Metrics")[0]
ALERTS = (ROOT / "cartsvc/ALERTS.md").read_text()
SEEN = blocks(ALERTS, "CartsvcMember")[0].splitlines()[-1]
# As in one session of a person: what one block leaves, the next one finds.
SESSION = """\
[ ! -e /root/session ] || . /root/session
trap 'export -p > /root/session; echo "umask $(umask); cd $PWD" >> /root/session' EXIT
export DEBIAN_FRONTEND=noninteractive
"""


def inline(page: str, start: str) -> str:
    """Return the command with this start that stands within a sentence of the page."""
    found = re.search(f"`({re.escape(start)}[^`]*)`", page)
    assert found
    return found[1]


ISSUER = "systemctl add-wants multi-user.target issuer; cd /srv/cartsvc-1.0.0"
ETCD = inline(PAGE, "envsubst < etcd.env")
WRITE = "(umask 077 && cat > /etc/cartsvc.env) <<'END'\n"
SERVE = inline(PAGE, "systemctl enable --now cartsvc@1")


class Machines:
    def __init__(self, all_of_them: dict[str, Machine], place: Path) -> None:
        self.all, self.place, self.names = all_of_them, place, {HOST: NODES["node1"]}

    def say(self, name: str, commands: str) -> str:
        """Run what a page says, with the reader's own address, number and password."""
        address = NODES.get(name, "")
        own = commands.replace("N=1 ME=10.0.0.1", f"N={name[-1]} ME={address}").replace("…", "pass")
        own = re.sub(r"(BIND=|http://)10\.0\.0\.1:", rf"\g<1>{address}:", own)
        return self.all[name].run(SESSION + own, check=True)

    def each(self, *commands: str, names: Iterable[str] = NODES) -> None:
        """Have these machines run them at the same time."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(partial(self.say, commands="\n".join(commands)), names))

    def listed(self, without: str = "") -> dict[str, str]:
        """Return the role of each member that is well, as another one than this sees it."""
        asked = next(name for name in NODES if name != without)
        rows = self.all[asked].run("cartsvc-patronictl list -f json || echo []")
        well = [row for row in json.loads(rows) if row["State"] in {"running", "streaming"}]
        return {row["Member"]: row["Role"] for row in well}

    def wait_until_whole(self, without: str = "") -> None:
        roles = ["Leader", "Replica", "Sync Standby"]
        wait_until(lambda: sorted(self.listed(without).values()) == roles, 300)

    def with_role(self, role: str) -> str:
        self.wait_until_whole()
        return {role: member for member, role in self.listed().items()}[role]

    def connect(self) -> Any:
        """Connect to the database that the service is set to use."""
        url = self.all["node1"].run("sed -n s/^DATABASE_URL=//p /etc/cartsvc.env").strip()
        return psycopg.connect(url, autocommit=True)

    def callers(self) -> RecordedCallers:
        how: dict[str, Any] = {"timeout": 30, "pause": 0.15, "follow": True, **token()}
        return RecordedCallers(
            f"https://{HOST}", self.place, verify=self.certificate("front"), **how
        )

    def replace(self, name: str, source: str) -> None:
        """Start a bare machine in place of one that is off, with the settings of this one.

        At first it is set up as if nobody knew it. Its log says what the alerts' page names.
        """
        folder = self.place / name
        execute("umount", str(folder / "root"))
        shutil.rmtree(folder)
        bare_disk(folder, self.place / "base", NODES[name])
        self.all[name].start()
        self.say(name, f"{ISSUER}\n{COMMON}\nsystemctl start issuer")
        self.say(name, f"{EACH}\n{ETCD} || true")
        wait_until(lambda: "has already been bootstrapped" in self.say(name, SEEN))
        self.say(name, f"{LOST}\n{PATRONI}")
        settings = self.all[source].run("cat /etc/cartsvc.env")
        own = re.sub("BIND=[^:]*", f"BIND={NODES[name]}", settings)
        self.say(name, f"{WRITE}{own}END\n{SERVE}\n{BACKUP_ON_EACH}\n{WATCH}")

    def certificate(self, name: str) -> str:
        return str(self.place / name / "root/etc/letsencrypt/live" / HOST / "fullchain.pem")


def resolved(machines: Machines, resolve: Any, host: str, *rest: Any, **others: Any) -> Any:
    return resolve(machines.names.get(host, host), *rest, **others)


@contextmanager
def three_machines() -> Iterator[Machines]:
    """Follow the page as far as the first backup."""
    packages = re.findall(r"apt-get install ([^&\\\n]*)", ONE_PAGE + PAGE)
    patroni = re.findall(r"'(patroni\[.*?)'", EACH)
    with tempfile.TemporaryDirectory(prefix="cartsvc-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        base = place / "base"
        debian(base, packages, *patroni)
        for version in ("1.0.0", "1.1.0"):
            release = copied(base / f"srv/cartsvc-{version}")
            (release / "cartsvc/__init__.py").write_text(f'__version__ = "{version}"\n')
        with (
            networked(place, base, {**NODES, "front": FRONT, "spare": SPARE}) as started,
            pytest.MonkeyPatch.context() as patch,
        ):
            made = Machines(started, place)
            patch.setattr(socket, "getaddrinfo", partial(resolved, made, socket.getaddrinfo))
            set_up(made)
            yield made


def set_up(machines: Machines) -> None:
    began = time.monotonic()
    machines.each(ISSUER, names=machines.all)
    machines.each("ln -s /srv/cartsvc-1.0.0 /srv/cartsvc", names=("front", "spare"))
    machines.say("node1", f"{PRODUCTION}\nsystemctl start issuer")
    first = HttpApi(f"https://{HOST}", **token())
    first.verify = machines.certificate("node1")
    ready = "curl -sf 127.0.0.1:800{1,2}/readyz"
    wait_until(lambda: machines.all["node1"].run(ready).count("ok") == 2)
    cart = first.post("", bodies.bare_cart()).json()["data"]["cartId"]
    print(f"\none machine after {time.monotonic() - began:.0f} s")
    machines.say("node1", inline(PAGE, "systemctl disable --now cartsvc"))
    dump = f"umask 077; export PGDATABASE=carts; {DUMP.splitlines()[0]}"
    machines.say("node1", f"(cd ~postgres && runuser -u postgres -- bash -euc '{dump}')")
    machines.each(COMMON, "systemctl start issuer", names=("node2", "node3"))
    machines.each(EACH)
    machines.each(ETCD)
    for name in NODES:
        machines.say(name, PATRONI)
    machines.wait_until_whole()
    machines.say("node1", DATA)
    settings = machines.all["node1"].run("cat /etc/cartsvc.env")
    replaced = "|".join(re.findall("^[A-Z_]+=", SETTINGS, re.MULTILINE))
    kept = re.sub(rf"(?m)^({replaced}).*\n", "", settings)
    machines.each(f"{WRITE}{kept}{SETTINGS}END", SERVE)
    servers = "".join(f"server {address}:8000 fail_timeout=1s; " for address in NODES.values())
    certified = re.sub("SERVERS='.*?'", f"SERVERS='{servers}'", CERTIFIED, flags=re.DOTALL)
    machines.say("front", NGINX + certified)
    machines.names[HOST], first = FRONT, HttpApi(f"https://{HOST}", **token())
    first.verify = machines.certificate("front")
    wait_until(lambda: first.get(f"/{cart}").ok)
    print(f"three machines after {time.monotonic() - began:.0f} s")
    machines.each(BACKUP_ON_EACH)
    machines.say("node1", BACKUP_ONCE)
    machines.wait_until_whole()
    create = next(line for line in BACKUP_OF_ONE.splitlines() if "stanza-create" in line)
    machines.say(machines.with_role("Leader"), f"{create}\nsystemctl start cartsvc-backup")
