from collections.abc import Iterator

import pytest

from tests.chaos.servers import Service, service
from tests.support.clusters import Cluster, private_cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with private_cluster() as server:
        yield server


@pytest.fixture(scope="module")
def on_postgres(cluster: Cluster) -> Iterator[Service]:
    with service(cluster.url()) as server:
        yield server


@pytest.fixture(scope="module")
def on_sqlite() -> Iterator[Service]:
    with service() as server:
        yield server
