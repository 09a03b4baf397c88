"""The page's containers, block by block, on a bare Debian with systemd as its init.

No registry of images can be reached. So stand_ins/ makes of Debian 13 what compose.yml names.
Replaced are also Certbot, because no authority certifies these names, and what createsuperuser
asks.

    CONTAINERS=1 pytest tests/machines/test_compose.py -n 0 -s
"""

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.machines.booted_machines import HOST, Machine, blocks, debian, execute
from tests.machines.test_container import COMPOSE, PAGE, SECRETS, USER, instruction, layers
from tests.support import bodies
from tests.support.callers import PROFILE
from tests.support.programs import ROOT, program, wait_until

if not os.environ.get("CONTAINERS"):
    pytest.skip("it downloads two Debians: set CONTAINERS=1", allow_module_level=True)
if os.geteuid() != 0:
    pytest.skip("only root can start a machine", allow_module_level=True)

INSTALL, MAKE_SECRETS, START, UPGRADE = blocks(PAGE, "Containers")
ASKED = "podman-compose exec one python manage.py createsuperuser"
ANSWERED = START.replace(
    ASKED,
    "podman-compose exec -T -e DJANGO_SUPERUSER_PASSWORD=a-long-pass-word one python manage.py"
    " createsuperuser --noinput --username=first --email=first@example.com < /dev/null",
)
(EXPORT,) = re.findall("^export .*\n", INSTALL, re.MULTILINE)
SESSION = f"export DEBIAN_FRONTEND=noninteractive\n{EXPORT}cd /srv/cartsvc/cartsvc/deploy\n"

# As Certbot does, it proves over HTTP that the name is ours, and runs the hook.
PROVEN = """\
mkdir -p /var/www/html/.well-known/acme-challenge
echo ours > /var/www/html/.well-known/acme-challenge/proof
curl -s http://carts.example.com/.well-known/acme-challenge/proof | grep ours
while [ "$1" != --deploy-hook ]; do shift; done
RENEWED_LINEAGE=$folder sh -euc "$2"
"""
# systemd-nspawn shows these read-only, and the systemd below has no groups of its own in them.
CGROUPS = """\
[Service]
Type=oneshot
ExecStart=sh -c 'for tree in /sys/fs/cgroup/*; do mount -o remount,bind,rw $$tree; done'
[Unit]
DefaultDependencies=no
[Install]
WantedBy=sysinit.target
"""
ENGINE = '[engine]\ncgroup_manager = "cgroupfs"\n'
IMAGES = {
    "python": instruction("FROM"),
    "postgres": COMPOSE["services"]["database"]["image"],
    "nginx": COMPOSE["services"]["nginx"]["image"],
}
CARTS = f"https://{HOST}/v2.0/customers/{PROFILE}/carts"
# Each of four creates a cart and lists carts, by turns. Lines of status and seconds come of it.
CALLERS = f"""\
cat > /root/caller.sh <<'END'
ask() {{ curl -so /dev/null -w '%{{http_code}} %{{time_total}}\\n' -H "$TOKEN" "$@" {CARTS}; }}
while sleep 0.1; do
  (ask; ask -H 'Content-Type: application/json' -d @/root/cart.json) >> /root/answers
done
END
rm -f /root/answers
for n in 1 2 3 4; do
  systemd-run -qu caller-$n -E TOKEN="$(cat /root/token)" bash /root/caller.sh
done
"""


def images(root: Path, place: Path) -> None:
    """Put the images that compose.yml names into Podman's store of the machine there."""
    context = Path(shutil.copytree(Path(__file__).with_name("stand_ins"), place / "images"))
    execute(program("debootstrap"), "--variant=minbase", "trixie", str(place / "trixie"))
    shutil.rmtree(place / "trixie/var/cache/apt")
    execute("tar", "-C", str(place / "trixie"), "-cf", str(context / "debian.tar"), ".")
    wheels = ["--only-binary=:all:", "--python-version=3.13", f"--dest={context}/wheels"]
    pip = [sys.executable, "-m", "pip"]
    execute(*pip, "download", "-q", *wheels, "-r", str(root / "wanted.txt"))
    store = [f"--root={root}/var/lib/containers/storage", f"--runroot={place}/run"]
    build = [program("buildah"), *store, "--storage-driver=overlay", "build", "--layers"]
    network = ["--isolation=chroot", "--network=host", "--format=docker"]
    for target, image in IMAGES.items():
        execute(*build, *network, f"--target={target}", "-t", image, str(context))


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """Follow the page on a bare Debian, up to the first account."""
    packages = re.findall(r"apt-get install (.*)$", INSTALL, re.MULTILINE)
    (wanted,) = re.findall(r"podman-compose==\S+", INSTALL)
    with tempfile.TemporaryDirectory(prefix="cartsvc-", ignore_cleanup_errors=True) as place:
        root = Path(place, "root")
        debian(root, packages, wanted)
        with (root / "usr/local/bin/certbot").open("a") as certbot:
            certbot.write(PROVEN)
        images(root, Path(place))
        code = root / "srv/cartsvc"
        code.mkdir()
        tracked = "git ls-files -z | tar -c --null -T - | tar -xC"
        execute("sh", "-euc", f"cd {ROOT}; {tracked} {code}")
        for laid in SECRETS:
            (code / laid).parent.mkdir(exist_ok=True)
            (code / laid).write_text("laid-by-an-operator")
        (root / "etc/containers").mkdir(exist_ok=True)
        (root / "etc/containers/containers.conf").write_text(ENGINE)
        (root / "etc/systemd/system/cgroups.service").write_text(CGROUPS)
        execute("chroot", str(root), "systemctl", "enable", "cgroups")
        started = Machine("compose", root, "--private-network", "--system-call-filter=@keyring")
        try:
            before = time.monotonic()
            paper = INSTALL + MAKE_SECRETS + ANSWERED
            told = started.run(f"export DEBIAN_FRONTEND=noninteractive\n{paper}", check=True)
            print(f"\nFrom a bare Debian to the first account: {time.monotonic() - before:.0f} s")
            assert "Superuser created successfully." in told
            issue = f"podman-compose exec -T one python manage.py issue_token --profile {PROFILE}"
            scope = "--scope 'Cart.Read Cart.Write' --lifetime 12h < /dev/null"
            token = started.run(f"{SESSION}{issue} {scope}", check=True).strip()
            cart = json.dumps(bodies.cart())
            started.run(
                f"echo 'Authorization: Bearer {token}' > /root/token\n"
                f"cat > /root/cart.json <<'END'\n{cart}\nEND",
                check=True,
            )
            yield started
        finally:
            started.stop()


def is_ready(machine: Machine) -> bool:
    instances = machine.run("curl -s 127.0.0.1:8001/readyz 127.0.0.1:8002/readyz")
    behind = machine.run(f"curl -so /dev/null -w '%{{http_code}}' https://{HOST}/v2.0/openapi.json")
    return instances + behind == '{"status": "ok"}' * 2 + "200"


def first_processes(machine: Machine, *services: str) -> set[str]:
    named = " ".join(f"cartsvc_{service}_1" for service in services)
    return set(machine.run(f"podman inspect -f '{{{{.State.Pid}}}}' {named}", check=True).split())


def test_the_page_makes_a_service(machine: Machine) -> None:
    """Which answers over HTTPS, by the certificate that came last."""
    wait_until(lambda: is_ready(machine))
    health = "podman inspect -f '{{.State.Health.Status}}' cartsvc_one_1 cartsvc_two_1"
    wait_until(lambda: machine.run(health) == "healthy\n" * 2, 60)
    ask = f'curl -sf -H "$(cat /root/token)" {CARTS}'
    created = f"{ask} -H 'Content-Type: application/json' -d @/root/cart.json"
    cart = json.loads(machine.run(created, check=True))["data"]["cartId"]
    assert cart in machine.run(ask, check=True)
    assert machine.run(f"curl -s https://{HOST}/admin/login/").count("<form") == 1
    # Only nginx is believed. Podman passes on other callers from an address of its own.
    forged = f"-H 'Host: {HOST}' -H 'X-Forwarded-Proto: https' 127.0.0.1:8001/v2.0/openapi.json"
    assert machine.run(f"curl -so /dev/null -w '%{{http_code}}' {forged}") == "301"
    done = "curl -so /dev/null -w '%{http_code}' 127.0.0.1:8003/done"
    waited = wait_until(lambda: machine.run(done) == "200", 180)
    print(f"\nThe first housekeeping: {waited:.0f} s later")


def test_the_image_has_what_the_service_needs_and_nothing_else(machine: Machine) -> None:
    find = "podman run --rm --entrypoint find cartsvc . -type f ! -name '*.pyc' -printf '%P\\n'"
    assert set(machine.run(find, check=True).split()) == layers()
    # Neither what lay with the code nor what is in use, in any layer.
    secret = machine.run("cat /etc/cartsvc/secret_key").strip()
    look = f"podman save cartsvc | grep -ac -e laid-by-an-operator -e {secret}; true"
    assert machine.run(look) == "0\n"
    print(machine.run("podman images; podman image tree cartsvc"))


def test_the_containers_have_their_rights_and_limits(machine: Machine) -> None:
    look = "id -u; touch here /tmp/here; cat /sys/fs/cgroup/memory/memory.limit_in_bytes; true"
    limits = {"one": 512, "database": 2048, "nginx": 256}
    for service, megabytes in limits.items():
        told = machine.run(f"podman exec cartsvc_{service}_1 sh -c '{look}' 2>&1").split("\n")
        assert str(megabytes << 20) in told
        if service == "one":
            assert told[0] == USER
            assert [line for line in told if "touch" in line] == [
                "touch: cannot touch 'here': Read-only file system"
            ]


@contextmanager
def called(machine: Machine) -> Iterator[list[tuple[str, float]]]:
    """Have callers meanwhile, and note what each request had for an answer, and in how long."""
    answers: list[tuple[str, float]] = []
    machine.run(CALLERS, check=True)
    try:
        wait_until(lambda: machine.run("cat /root/answers").count("200") > 8)
        yield answers
    finally:
        machine.run("systemctl stop caller-{1,2,3,4}")
    for line in machine.run("cat /root/answers").splitlines():
        status, seconds = line.split()
        answers.append((status, float(seconds)))


def test_no_request_fails_in_an_upgrade(machine: Machine) -> None:
    version = "/srv/cartsvc/cartsvc/__init__.py"
    before = time.monotonic()
    with called(machine) as answers:
        machine.run(f"echo '__version__ = \"1.1.0\"' > {version}\n{SESSION}{UPGRADE}", check=True)
    took = time.monotonic() - before
    slowest = max(seconds for _, seconds in answers)
    print(f"\n{len(answers)} requests in an upgrade of {took:.0f} s, the slowest {slowest:.1f} s")
    assert {status for status, _ in answers} == {"200"}
    told = machine.run("curl -s 127.0.0.1:8001/healthz 127.0.0.1:8002/healthz")
    assert told.count('"version": "1.1.0"') == 2


def test_what_is_killed_starts_again(machine: Machine) -> None:
    killed = ("one", "nginx", "database")
    before = first_processes(machine, *killed)
    machine.run(f"kill -9 {' '.join(before)}", check=True)
    began = time.monotonic()
    wait_until(lambda: len(first_processes(machine, *killed) - before - {"0"}) == 3)
    wait_until(lambda: is_ready(machine), 180)
    print(f"\nAll serve again after {time.monotonic() - began:.0f} s")


def test_it_comes_up_by_itself_after_a_loss_of_power(machine: Machine) -> None:
    machine.kill()
    began = time.monotonic()
    machine.start()
    wait_until(lambda: is_ready(machine), 180)
    print(f"\nAll serve {time.monotonic() - began:.0f} s after the machine starts")
