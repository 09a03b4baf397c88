"""A bare Debian, booted by systemd-nspawn, and what is put there; or several in one network.

It needs root and the network: for Debian's packages and for Python's. The machines reach each other
and the tests, and nothing else.
"""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.support.callers import PROFILE
from tests.support.programs import ROOT, children, program, wait_until
from tests.support.tokens import mint, private_key, public_jwk

CERTBOT = """\
#!/bin/sh -eu
[ "$1" = certonly ] || exit 0
folder=/etc/letsencrypt/live/carts.example.com
mkdir -p $folder
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=carts.example.com \\
  -addext subjectAltName=DNS:carts.example.com,DNS:smtp.example.com \\
  -keyout $folder/privkey.pem -out $folder/fullchain.pem
cp $folder/fullchain.pem /usr/local/share/ca-certificates/ours.crt && update-ca-certificates
"""
ISSUER = """\
[Service]
ExecStart=/usr/bin/python3 -m http.server 8600 --bind 127.0.0.1 -d /opt/issuer
"""
# Sends the statuses of a caller's requests, five a second, to a file.
TRAFFIC = """\
cat > /root/traffic.sh <<'END'
while sleep 0.2; do
  curl -so /dev/null -w '%{{http_code}} ' -H 'Authorization: Bearer {token}' \\
    https://carts.example.com/v2.0/customers/{profile}/carts >> /root/statuses
done
END
rm -f /root/statuses
systemd-run -qu traffic bash /root/traffic.sh
"""


HOST = "carts.example.com"
LINK = "vb-{}"  # to a machine of this name


def blocks(page: str, section: str) -> list[str]:
    """Return the commands of a page's section, block by block."""
    text = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = re.findall("^( *)```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for _, block in found]


def values_up(prometheus: str) -> int:
    """Return how many of `up` and `probe_success` this configuration has, where all are 1."""
    jobs = yaml.safe_load(prometheus)["scrape_configs"]
    # What is probed tells two things.
    return sum(
        len(job["static_configs"][0]["targets"]) * (2 if "params" in job else 1) for job in jobs
    )


def token() -> dict[str, Any]:
    """Return how the issuer of these machines makes one."""
    key, headers = private_key("RS256"), {"kid": "known"}
    issuer = {"iss": "https://issuer.example.com/", "aud": "carts"}
    return {"algorithm": "RS256", "key": key, "headers": headers, **issuer}


def execute(*command: str) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL, timeout=600)


# With a cgroup for each machine: what one of them kills must be its own.
BOOT = """\
for tree in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  mkdir -p $tree/$1 && echo $$ > $tree/$1/cgroup.procs
done
shift
exec "$@"
"""

BRIDGE = """\
ip link set lo up
ip link add machines type bridge
ip address add 10.0.0.254/24 dev machines
ip link set machines up
"""


class Machine:
    def __init__(self, name: str, root: Path, *options: str) -> None:
        nspawn = [program("systemd-nspawn"), "-D", str(root), "-M", name, "-b"]
        self.command = [*nspawn, "--register=no", "--keep-unit", *options]
        self.name = name
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["sh", "-euc", BOOT, "sh", f"{self.name}-{os.getpid()}", *self.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self.init)
        wait_until(lambda: self.run("systemctl is-system-running") == "running\n", 180)

    def kill(self) -> None:
        """Kill all that runs on it, as a loss of power would."""
        os.kill(int(self.init()), signal.SIGKILL)
        self.process.wait(60)

    def stop(self) -> None:
        self.run("systemctl poweroff")
        self.process.wait(120)

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

    @contextmanager
    def traffic(self) -> Iterator[Callable[[], list[str]]]:
        """Have a caller list carts through nginx, and yield what tells the statuses since then."""
        minted = mint(**token(), profileKey=str(PROFILE))

        def statuses() -> list[str]:
            return self.run("cat /root/statuses").split()

        self.run(TRAFFIC.format(token=minted, profile=PROFILE), check=True)
        try:
            wait_until(lambda: "200" in statuses())
            yield statuses
        finally:
            self.run("systemctl stop traffic")


def debian(root: Path, packages: list[str], *others: str) -> None:
    """Put a Debian there, with what these packages, ours and others of Python need."""
    bare = "--include=systemd,systemd-sysv,dbus,ca-certificates"
    execute(program("debootstrap"), "--variant=minbase", bare, "bookworm", str(root))
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    execute("chroot", str(root), "apt-get", "update", "-q")
    for some in packages:
        execute("chroot", str(root), "bash", "-c", f"apt-get install -qd {some}")
    # Which packages are wanted depends on the version of Python. All may lie there.
    wanted = root / "wanted.txt"
    locked = (ROOT / "cartsvc/requirements.lock").read_text()
    wanted.write_text(re.sub(r" ; .*(?= \\$)", "", locked, flags=re.MULTILINE))
    pip, built = [sys.executable, "-m", "pip"], f"{root}/opt/wheels"
    wheels = ["--only-binary=:all:", "--python-version=3.11", f"--dest={built}"]
    execute(*pip, "download", "-q", *wheels, "-r", str(wanted))
    for other in others:
        # Two that Patroni wants have no wheels.
        execute(*pip, "wheel", "-q", "--no-deps", "-w", built, "ydiff<1.5", "python-etcd")
        execute(*pip, "download", "-q", *wheels, f"--find-links={built}", other)
    (root / "etc/pip.conf").write_text("[global]\nno-index = 1\nfind-links = /opt/wheels\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost carts.example.com\n::1 localhost\n")
    (root / "usr/local/bin/certbot").write_text(CERTBOT)
    (root / "usr/local/bin/certbot").chmod(0o755)
    drop_in = root / "etc/systemd/system/systemd-timesyncd.service.d"
    drop_in.mkdir(parents=True)
    (drop_in / "here.conf").write_text("[Unit]\nConditionVirtualization=\n")
    (root / "opt/issuer").mkdir()
    keys = {"keys": [public_jwk("RS256", kid="known")]}
    (root / "opt/issuer/jwks.json").write_text(json.dumps(keys))
    (root / "etc/systemd/system/issuer.service").write_text(ISSUER)


@contextmanager
def booted(folder: Path, base: Path, backups: Path) -> Iterator[Machine]:
    """Boot a machine of the folder's name on this Debian, with a disk for backups."""
    root = bare_disk(folder, base, "10.0.0.1")
    machine = Machine(folder.name, root, f"--bind={backups}:/backup", "--private-network")
    try:
        yield machine
    finally:
        machine.stop()
        execute("umount", str(root))


@contextmanager
def networked(place: Path, base: Path, addresses: dict[str, str]) -> Iterator[dict[str, Machine]]:
    """Boot a machine at each address, all of them on this Debian, with one folder as /backup.

    The caller's thread, and what it starts, is in their network meanwhile.
    """
    execute("chroot", str(base), "systemctl", "enable", "systemd-networkd")
    (place / "backup").mkdir()
    with ExitStack() as stack:
        stack.enter_context(private_network())
        machines = {}
        for name, address in addresses.items():
            root = bare_disk(place / name, base, address)
            stack.callback(execute, "umount", str(root))
            machines[name] = Machine(
                name, root, f"--bind={place}/backup:/backup", "--network-bridge=machines"
            )
            stack.callback(machines[name].stop)
        yield machines


def bare_disk(folder: Path, base: Path, address: str) -> Path:
    """Mount a disk for the machine of this name, with this Debian on it. Return where."""
    root = folder / "root"
    for part in ("root", "upper", "work"):
        (folder / part).mkdir(parents=True)
    layers = f"lowerdir={base},upperdir={folder}/upper,workdir={folder}/work"
    execute("mount", "-t", "overlay", "overlay", "-o", layers, str(root))
    (root / "etc/hostname").write_text(folder.name)
    (root / "etc/systemd/network/10-host0.network").write_text(
        f"[Match]\nName=host0\n[Network]\nAddress={address}/24\n"
    )
    return root


@contextmanager
def private_network() -> Iterator[None]:
    new_network, system = 0x40000000, ctypes.CDLL(None)
    with Path("/proc/thread-self/ns/net").open() as before:
        assert system.unshare(new_network) == 0
        try:
            execute("sh", "-euc", BRIDGE)
            yield
        finally:
            assert system.setns(before.fileno(), new_network) == 0


@contextmanager
def disk(place: Path) -> Iterator[Path]:
    """Mount a file system of a gigabyte, and yield where."""
    file, folder = place / "disk", place / "backups"
    folder.mkdir()
    with file.open("wb") as empty:
        empty.truncate(1 << 30)
    execute("mkfs.ext4", "-q", str(file))
    execute("mount", "-o", "loop", str(file), str(folder))
    try:
        yield folder
    finally:
        execute("umount", str(folder))
