"""A bare Debian, booted by systemd-nspawn with a disk for backups, and what is put there.

It needs root and the network: for Debian's packages and for Python's. The machine itself has no
network. Run no other machine of systemd-nspawn beside it: they would share a cgroup.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.callers import PROFILE
from tests.support.programs import ROOT, children, program, wait_until
from tests.support.tokens import mint, private_key, public_jwk

CERTBOT = """\
#!/bin/sh -eu
folder=/etc/letsencrypt/live/carts.example.com
mkdir -p $folder
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=carts.example.com \\
  -addext subjectAltName=DNS:carts.example.com \\
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


def execute(*command: str) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL, timeout=600)


class Machine:
    def __init__(self, root: Path, backups: Path) -> None:
        options = ["-b", "--private-network", "--register=no", "--keep-unit"]
        self.process = subprocess.Popen(
            [program("systemd-nspawn"), "-D", root, f"--bind={backups}:/backup", *options],
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

    @contextmanager
    def traffic(self) -> Iterator[Callable[[], list[str]]]:
        """Have a caller list carts through nginx, and yield what tells the statuses since then."""
        how = {"iss": "https://issuer.example.com/", "aud": "carts", "exp": time.time() + 3600}
        headers = {"kid": "known"}
        key = private_key("RS256")
        token = mint("RS256", key=key, headers=headers, profileKey=str(PROFILE), **how)

        def statuses() -> list[str]:
            return self.run("cat /root/statuses").split()

        self.run(TRAFFIC.format(token=token, profile=PROFILE), check=True)
        try:
            wait_until(lambda: "200" in statuses())
            yield statuses
        finally:
            self.run("systemctl stop traffic")


@contextmanager
def booted(place: Path, packages: list[str]) -> Iterator[Machine]:
    """Boot a Debian in the folder, with what is needed to install these packages and ours."""
    root = place / "root"
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
    wheels = ["--only-binary=:all:", "--python-version=3.11", f"--dest={root}/opt/wheels"]
    execute(sys.executable, "-m", "pip", "download", "-q", *wheels, "-r", str(wanted))
    (root / "etc/pip.conf").write_text("[global]\nno-index = 1\nfind-links = /opt/wheels\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost carts.example.com\n::1 localhost\n")
    (root / "usr/local/bin/certbot").write_text(CERTBOT)
    (root / "usr/local/bin/certbot").chmod(0o755)
    (root / "opt/issuer").mkdir()
    keys = {"keys": [public_jwk("RS256", kid="known")]}
    (root / "opt/issuer/jwks.json").write_text(json.dumps(keys))
    (root / "etc/systemd/system/issuer.service").write_text(ISSUER)
    with disk(place) as backups:
        machine = Machine(root, backups)
        try:
            yield machine
        finally:
            machine.run("systemctl poweroff")
            machine.process.wait(60)


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
