"""The README's set-up of one machine, line by line, on a bare Debian with systemd as its init.

It takes minutes, root and the network: for Debian's packages and for Python's. The machine itself
has no network. Run no other machine of systemd-nspawn beside it: they would share a cgroup. Two
things are replaced: Certbot, because no authority certifies these names, and what createsuperuser
asks. The issuer of the example does not exist, so no API token is verified.

    ONE_MACHINE=1 pytest tests/chaos/test_one_machine.py -s
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cartsvc import __version__
from tests.chaos.servers import ROOT
from tests.support.programs import children, copied, program, wait_until

if not os.environ.get("ONE_MACHINE"):
    pytest.skip("it downloads a Debian: set ONE_MACHINE=1", allow_module_level=True)
if os.geteuid() != 0:
    pytest.skip("only root can start a machine", allow_module_level=True)

README = (ROOT / "cartsvc/README.md").read_text()
# How the code comes there is left out.
PAPER, UPGRADE, BACKUP, RESTORE, WATCH = (
    re.findall(
        "^```sh\n(.*?)^```", README.partition(f"## {section}\n")[2], re.MULTILINE | re.DOTALL
    )[block]
    for section, block in (
        ("Production", 0),
        ("Start, stop, upgrade", 0),
        ("Backup and restore", 0),
        ("Backup and restore", 1),
        ("Metrics", 0),
    )
)
ANSWERED = "export DEBIAN_FRONTEND=noninteractive\n" + PAPER.replace(
    "apt-get update && ", ""
).replace(
    "cartsvc createsuperuser",
    "sed 's/-qtP/-qtP -E DJANGO_SUPERUSER_PASSWORD=a-long-pass-word/' /usr/local/bin/cartsvc |"
    " sh -s createsuperuser --noinput --username=first --email=first@example.com",
)

CERTBOT = """\
#!/bin/sh -eu
folder=/etc/letsencrypt/live/carts.example.com
mkdir -p $folder
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=carts.example.com \\
  -addext subjectAltName=DNS:carts.example.com \\
  -keyout $folder/privkey.pem -out $folder/fullchain.pem
cp $folder/fullchain.pem /usr/local/share/ca-certificates/ours.crt && update-ca-certificates
"""


class Machine:
    """A Debian in a folder, booted in namespaces of its own."""

    def __init__(self, root: Path) -> None:
        nspawn = program("systemd-nspawn")
        self.process = subprocess.Popen(
            [nspawn, "-D", root, "-b", "--private-network", "--register=no", "--keep-unit"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self.init)
        wait_until(lambda: self.run("systemctl is-system-running") == "running\n")

    def init(self) -> str:
        """Return the process id of the machine's systemd, once there is one."""
        names = {pid: Path(f"/proc/{pid}/comm").read_text() for pid in children(self.process.pid)}
        return next((str(pid) for pid, name in names.items() if name == "systemd\n"), "")

    def run(self, commands: str, *, check: bool = False) -> str:
        done = subprocess.run(
            [program("nsenter"), "-t", self.init(), "-a", "bash", "-eux"],
            input=commands,
            env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"},
            stdout=subprocess.PIPE,
            stderr=None if check else subprocess.DEVNULL,
            text=True,
            timeout=600,
        )
        assert not check or done.returncode == 0, done.stdout[-3000:]
        return done.stdout


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """Start a bare Debian, and follow the paper on it."""
    program("systemd-nspawn")
    with tempfile.TemporaryDirectory(prefix="cartsvc-", ignore_cleanup_errors=True) as place:
        root = Path(place, "root")
        wanted = root / "wanted.txt"
        bare = "--include=systemd,systemd-sysv,dbus,ca-certificates"
        execute(program("debootstrap"), "--variant=minbase", bare, "bookworm", str(root))
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        packages = re.findall(r"apt-get install (.*)$", PAPER + BACKUP + WATCH, re.MULTILINE)
        execute("chroot", str(root), "apt-get", "update", "-q")
        for some in packages:
            execute("chroot", str(root), "bash", "-c", f"apt-get install -qd {some}")
        # Which packages are wanted depends on the version of Python. All may lie there.
        locked = (ROOT / "cartsvc/requirements.lock").read_text()
        wanted.write_text(re.sub(r" ; .*(?= \\$)", "", locked, flags=re.MULTILINE))
        wheels = ["--only-binary=:all:", "--python-version=3.11", f"--dest={root}/opt/wheels"]
        execute(sys.executable, "-m", "pip", "download", "-q", *wheels, "-r", str(wanted))
        (root / "etc/pip.conf").write_text("[global]\nno-index = 1\nfind-links = /opt/wheels\n")
        (root / "etc/hosts").write_text("127.0.0.1 localhost carts.example.com\n::1 localhost\n")
        (root / "usr/local/bin/certbot").write_text(CERTBOT)
        (root / "usr/local/bin/certbot").chmod(0o755)
        for version in (__version__, "1.1.0", "1.2.0"):
            folder = copied(root / f"srv/cartsvc-{version}")
            (folder / "cartsvc/__init__.py").write_text(f'__version__ = "{version}"\n')
        (root / "srv/cartsvc-1.2.0/carts/urls.py").write_text("1 / 0")
        running = Machine(root)
        try:
            assert "Superuser created successfully." in running.run(ANSWERED, check=True)
            yield running
        finally:
            running.run("systemctl poweroff")
            running.process.wait(60)


def execute(*command: str) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL, timeout=600)


READY = "curl -sf 127.0.0.1:8001/readyz && curl -sf 127.0.0.1:8002/readyz"


def test_the_paper_makes_a_machine_that_serves(machine: Machine) -> None:
    assert machine.run(READY, check=True) == '{"status": "ok"}' * 2
    assert machine.run("curl -s https://carts.example.com/admin/login/").count("<form") == 1
    assert machine.run("stat -c %a-%U /etc/cartsvc.env") == "600-root\n"
    # The housekeeping's end takes nothing from the services of the same user.
    machine.run("systemctl start cartsvc-housekeeping.service", check=True)
    assert "cartsvc_info" in machine.run("curl -sf 127.0.0.1:9102/metrics", check=True)
    assert "cartsvc-housekeeping" in machine.run("systemctl list-timers")


def test_it_comes_up_by_itself_in_any_order(machine: Machine) -> None:
    """All is killed at once, and what needs the database is started long before it."""
    machine.run(
        "systemctl kill -s KILL cartsvc@1 cartsvc@2 postgresql@15-main nginx || true\n"
        "systemctl stop cartsvc@1 cartsvc@2 postgresql@15-main nginx redis-server\n"
        "systemctl start nginx; systemctl start --no-block cartsvc@1 cartsvc@2; sleep 20"
    )
    assert machine.run(READY) == ""
    machine.run("systemctl start postgresql@15-main redis-server", check=True)
    wait_until(lambda: machine.run(READY) == '{"status": "ok"}' * 2, 60)
    # What is killed later is started again.
    killed = "postgresql@15-main nginx"
    ask = f"systemctl show --value -p MainPID {killed}"
    before = set(machine.run(ask).split())
    assert len(before) == 2
    # Beside another machine it says that it failed, though it has killed them.
    machine.run(f"systemctl kill -s KILL {killed} || true")
    wait_until(lambda: not before & set(machine.run(ask).split()))
    wait_until(lambda: machine.run(f"systemctl is-active {killed}") == "active\n" * 2)
    wait_until(lambda: machine.run(READY) == '{"status": "ok"}' * 2, 60)


def versions(machine: Machine) -> list[str]:
    said = machine.run("curl -s 127.0.0.1:8001/healthz; curl -s 127.0.0.1:8002/healthz")
    return re.findall(r'"version": "(.*?)"', said)


def test_a_release_goes_forth_and_back(machine: Machine) -> None:
    """The third one does not start."""
    machine.run(UPGRADE, check=True)
    assert versions(machine) == ["1.1.0"] * 2
    assert machine.run("cartsvc version").strip() == "1.1.0"
    broken = UPGRADE.replace("1.1.0", "1.2.0").replace("cartsvc-release", "! cartsvc-release")
    machine.run(broken, check=True)
    wait_until(lambda: versions(machine) == ["1.1.0"] * 2, 60)
    machine.run(f"cartsvc-release {__version__}", check=True)
    assert versions(machine) == [__version__] * 2


def test_backups_go_on_and_lead_back(machine: Machine) -> None:
    machine.run("cd /srv/cartsvc\n" + BACKUP, check=True)
    assert machine.run("systemctl is-active cartsvc-backup.timer") == "active\n"
    machine.run("systemctl start cartsvc-backup", check=True)
    assert machine.run("ls /backup/backup/cartsvc").count("F\n") == 2
    count = "runuser -u postgres -- psql -Atd carts -c 'SELECT count(*) FROM auth_user'"
    moment = machine.run("sleep 2; date +'%F %T%:z'; sleep 2").strip()
    machine.run("runuser -u postgres -- psql -d carts -c 'DELETE FROM auth_user'", check=True)
    assert machine.run(count) == "0\n"
    machine.run(f"MOMENT='{moment}'\n{RESTORE}", check=True)
    wait_until(lambda: machine.run(READY) == '{"status": "ok"}' * 2, 60)
    assert machine.run(count) == "1\n"


def test_all_is_watched(machine: Machine) -> None:
    machine.run("cd /srv/cartsvc\n" + WATCH, check=True)
    wait_until(lambda: machine.run("curl -sf 127.0.0.1:9093/-/ready") == "OK")
    ask = "curl -sG 127.0.0.1:9090/api/v1/query --data-urlencode 'query={}'"
    up = ask.format('{__name__=~"up|probe_success"} == 1')
    wait_until(lambda: machine.run(up).count('"value"') == 9, 90)
    for wanted in (
        'probe_ssl_earliest_cert_expiry{job="cartsvc-site"}',
        'node_systemd_timer_last_trigger_seconds{name="cartsvc-housekeeping.timer"}',
        'node_systemd_unit_state{name="cartsvc-housekeeping.timer", state="active"} == 1',
    ):
        assert machine.run(ask.format(wanted)).count('"value"') == 1
