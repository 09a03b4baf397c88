"""What cartsvc/CHANGES.md says: which releases there are, and how to go back to the one before."""

import re
import shutil
from pathlib import Path

import pytest
import requests

from cartsvc import __version__
from tests.chaos.servers import ROOT, Service, service
from tests.service.test_serve import sign_in
from tests.support import bodies
from tests.support.carts import created, shown
from tests.support.clusters import Cluster
from tests.support.programs import wait_until

CHANGES = (ROOT / "cartsvc/CHANGES.md").read_text()
LATER = """\
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("carts", "{before}")]
    operations = [migrations.AddField("cart", "later", models.TextField(null=True))]
"""
MIGRATIONS = sorted(file.stem for file in (ROOT / "carts/migrations").glob("0*.py"))
JOIN = (
    "from django.contrib.auth.models import Group, User; "
    "User.objects.create_user('anna').groups.set(Group.objects.all())"
)
ADMIN = (
    "from django.contrib.auth.models import User; "
    "User.objects.create_superuser('admin', password='of-the-admin')"
)
MEMBERS = """SELECT name, count(user_id) FROM auth_group g
    LEFT JOIN auth_user_groups u ON u.group_id = g.id GROUP BY name ORDER BY name"""


def test_the_newest_release_is_this_one_and_names_every_migration() -> None:
    [newest, *_] = re.findall(r"^## ([0-9.]+)$", CHANGES, re.MULTILINE)
    assert newest == __version__
    assert [name for name in MIGRATIONS if f"`{name}`" not in CHANGES] == []


def ready(server: Service) -> tuple[int, str]:
    answer = requests.get(f"{server.url}/readyz", timeout=60)
    return answer.status_code, answer.json()["status"]


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """A copy of the code."""
    for name in ("cartsvc", "carts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "manage.py", tmp_path)
    return tmp_path


def test_a_running_instance_loads_nothing_of_a_release_that_lies_in_its_folder(
    cluster: Cluster, later: Path
) -> None:
    """Not in a worker that replaces one, either."""
    with service(cluster.url(), root=later) as server:
        server.manage("shell", "--no-imports", "-c", ADMIN)
        for file in [*later.rglob("*.py"), *later.rglob("*.html")]:
            file.write_text("{% broken")
        for _ in server.workers():
            server.lose_a_worker()
            wait_until(server.is_up)
        for _ in range(8):  # either worker
            assert ready(server) == (200, "ok")
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
        assert ready(server) == (200, "ok")
        assert caller.post(f"/{cart}/items", bodies.item()).status_code == 200
        before = shown(caller, cart)

        # The earlier code serves while the later one takes its column away.
        server.root = later
        server.manage("migrate", "carts", MIGRATIONS[-1])
        assert shown(caller, cart) == before
        assert caller.post(body=bodies.cart()).status_code == 200
        server.restart()
        assert ready(server) == (503, "migrations pending")
        server.manage("migrate", "--noinput")
        assert ready(server) == (200, "ok")
        assert shown(caller, cart) == before
        assert caller.delete(f"/{cart}").status_code == 200

        # Without the second migration, all is there but the groups.
        cart = created(caller)
        before = shown(caller, cart)
        server.manage("shell", "--no-imports", "-c", JOIN)
        assert cluster.execute(MEMBERS) == [("Cart support", 1), ("Cart support lead", 1)]
        server.manage("migrate", "carts", "0001")
        server.restart()
        assert ready(server) == (503, "migrations pending")
        assert cluster.execute(MEMBERS) == []
        assert shown(caller, cart) == before
        server.manage("migrate", "--noinput")
        assert ready(server) == (200, "ok")
        assert cluster.execute(MEMBERS) == [("Cart support", 0), ("Cart support lead", 0)]
        assert shown(caller, cart) == before

        # Without the first one, nothing is there.
        server.manage("migrate", "carts", "zero")
        server.manage("migrate", "--noinput")
        server.restart()
        assert ready(server) == (200, "ok")
        assert caller.get(f"/{cart}").status_code == 404
        assert created(caller)
