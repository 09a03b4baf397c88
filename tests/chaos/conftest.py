from collections.abc import Iterator

import pytest

from tests.chaos.servers import Postgres, Service, postgres, service


@pytest.fixture(scope="module")
def cluster() -> Iterator[Postgres]:
    with postgres() as server:
        yield server


@pytest.fixture(scope="module")
def on_postgres(cluster: Postgres) -> Iterator[Service]:
    with service(cluster.url) as server:
        yield server


@pytest.fixture(scope="module")
def on_sqlite() -> Iterator[Service]:
    with service() as server:
        yield server
