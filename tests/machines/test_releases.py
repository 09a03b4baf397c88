"""A release beside another: how one is started, taken back, and left for the one before."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from tests.machines.servers import readiness, service
from tests.service.test_serve import sign_in
from tests.support import bodies
from tests.support.carts import created, shown
from tests.support.clusters import Cluster
from tests.support.programs import ROOT, copied, wait_until

LATER = """\
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("carts", "{before}")]
    operations = [migrations.AddField("cart", "later", models.TextField(null=True))]
"""
MIGRATIONS = sorted(file.stem for file in (ROOT / "carts/migrations").glob("0*.py"))
ADMIN = (
    "from django.contrib.auth.models import User; "
    "User.objects.create_superuser('admin', password='of-the-admin')"
)


def test_an_instance_stays_with_its_release_when_the_link_leads_elsewhere(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.execute("CREATE DATABASE linked")
    (copied(tmp_path / "1.0.0") / ".venv").symlink_to(sys.prefix)
    link = tmp_path / "link"
    link.symlink_to("1.0.0")
    unit = (ROOT / "cartsvc/deploy/cartsvc@.service").read_text()
    (command,) = re.findall("^ExecStart=(.*)$", unit, re.MULTILINE)
    with service(cluster.url("linked"), root=link) as server:
        server.stop()
        server.command = command.replace("/srv/cartsvc", str(link)).split()
        server.start()
        link.unlink()
        link.symlink_to("broken")
        server.lose_a_worker()
        assert [created(server.caller()) for _ in range(8)]


# What a release that does not serve answers, by what it is asked.
BROKEN = {
    "does not get ready": "*readyz) return 22",
    "does not know its name": "*carts.example.com*openapi.json) echo 400",
    "is 500 to all callers": "*metrics) echo 'cartsvc_requests_total{status=\"500\"} 9.0'",
}
SERVING = """\
*readyz) echo ok ;; *carts.example.com*openapi.json) echo 200 ;;
*metrics) echo 'cartsvc_requests_total{status="500"} 9.0'
          echo 'cartsvc_requests_total{status="200"} 10.0' ;;
"""


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("serving", [0, 1, 2])
def test_a_release_that_does_not_serve_is_taken_back(
    serving: int, answer: str, tmp_path: Path
) -> None:
    """So many instances serve."""
    settings = "ALLOWED_HOSTS=carts.example.com,localhost\nJWT_JWK_URL=https://issuer/keys\n"
    (tmp_path / "cartsvc.env").write_text(settings)
    script = (ROOT / "cartsvc/deploy/cartsvc-release").read_text()
    here = script.replace("/srv/", f"{tmp_path}/").replace("/etc/systemd/system", str(tmp_path))
    here = here.replace("/etc/", f"{tmp_path}/")
    asked = f'[ "${{instance:-0}}" -gt {serving} ] && case "$*" in {answer} ; return ;; esac'
    curl = f'curl() {{ {asked}; case "$*" in *issuer/keys) ;; {SERVING} *) return 2 ;; esac; }}'
    programs = f'systemctl() {{ echo "$@"; }}; sleep() {{ :; }}\n{curl}\n'
    for version in ("1.0.0", "1.1.0"):
        folder = copied(tmp_path / f"cartsvc-{version}")
        with (folder / "cartsvc/deploy/cartsvc@.service").open("a") as unit:
            unit.write(f"# of {version}\n")
    (tmp_path / "cartsvc").symlink_to("cartsvc-1.0.0")
    done = subprocess.run(
        ["bash", "-euc", programs + here, "sh", "1.1.0"], capture_output=True, text=True, timeout=60
    )
    restarted = [f"restart cartsvc@{number}" for number in (1, 2)][: serving + 1]
    back = ["daemon-reload", f"restart --no-block cartsvc@{serving + 1}"] if serving < 2 else []
    told = [line for line in done.stdout.splitlines() if line != "ok"]
    assert told == ["daemon-reload", *restarted, *back]
    kept = "1.1.0" if serving == 2 else "1.0.0"
    assert (tmp_path / "cartsvc").readlink().name == f"cartsvc-{kept}"
    assert (tmp_path / "cartsvc@.service").read_text().endswith(f"# of {kept}\n")
    assert (done.returncode, "1.0.0 is linked again" in done.stderr) == (serving < 2, serving < 2)
    assert ("cartsvc@1 runs 1.1.0" in done.stderr) == (serving == 1)


@pytest.fixture
def later(tmp_path: Path) -> Path:
    return copied(tmp_path)


def test_a_running_instance_loads_nothing_of_a_release_that_lies_in_its_folder(
    cluster: Cluster, later: Path
) -> None:
    """Not in a worker that replaces one, either."""
    with service(cluster.url(), root=later) as server:
        server.manage("shell", "--no-imports", "-c", ADMIN)
        for file in later.rglob("*.*"):
            if file.suffix in {".py", ".html", ".yaml"}:
                file.write_text("{% broken")
        for _ in server.workers():
            server.lose_a_worker()
            wait_until(server.is_up)
        for _ in range(8):  # either worker
            assert readiness(server) == (200, "ok")
            assert requests.get(f"{server.url}/v2.0/openapi.json", timeout=60).ok
            caller = server.caller()
            assert shown(caller, created(caller))
            assert "<title>Carts" in sign_in(server.port, "of-the-admin")


def test_going_back_loses_what_the_paper_says(cluster: Cluster, later: Path) -> None:
    """First the code alone, then with it the database, one migration after the other."""
    migration = later / "carts/migrations/0099_later.py"
    migration.write_text(LATER.format(before=MIGRATIONS[-1]))

    with service(cluster.url(), root=later) as server:
        assert "[X] 0099_later" in server.manage("showmigrations", "carts")
        caller = server.caller()
        cart = created(caller)
        server.root = ROOT
        assert "No migrations to apply" in server.manage("migrate", "--noinput")
        server.restart()
        assert readiness(server) == (200, "ok")
        assert caller.post(f"/{cart}/items", bodies.item()).status_code == 200
        before = shown(caller, cart)

        # The earlier code serves while the later one takes its column away.
        server.root = later
        server.manage("migrate", "carts", MIGRATIONS[-1])
        assert shown(caller, cart) == before
        assert caller.post(body=bodies.cart()).status_code == 200
        server.restart()
        assert readiness(server) == (503, "migrations pending")
        server.manage("migrate", "--noinput")
        assert readiness(server) == (200, "ok")
        assert shown(caller, cart) == before
        assert caller.delete(f"/{cart}").status_code == 200

        # Without the first one, nothing is there.
        cart = created(caller)
        server.manage("migrate", "carts", "zero")
        server.manage("migrate", "--noinput")
        server.restart()
        assert readiness(server) == (200, "ok")
        assert caller.get(f"/{cart}").status_code == 404
        assert created(caller)
