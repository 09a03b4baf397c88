import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machines.proxies import HOST, Proxy, nginx
from tests.machines.servers import Service, service
from tests.support.clusters import Cluster, private_cluster
from tests.support.programs import missing

# The files that take the longest, of this folder and tests/browser. Those that run last alone keep
# the other processes waiting.
SLOWEST = [
    "test_failover.py",
    "test_looks.py",
    "test_backup.py",
    "test_outages_call.py",
    "test_docs.py",
    "test_alertmanager.py",
    "test_server.py",
    "test_metrics.py",
    "test_migrate.py",
]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest files. The others stay in random order."""
    place = {name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(SLOWEST)))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with private_cluster() as server:
        yield server


@pytest.fixture(scope="module")
def on_sqlite() -> Iterator[Service]:
    with service() as server:
        yield server


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with (
        service(ALLOWED_HOSTS=f"{HOST},127.0.0.1", HTTPS_ONLY="true") as server,
        nginx(server) as one,
    ):
        yield one


@pytest.fixture
def small_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder]).returncode:
            missing("the right to mount a file system")
        yield Path(folder)
        subprocess.run(["umount", "--lazy", folder], check=True)
