import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.db import connection
from pytest_django import DjangoDbBlocker, Settings
from whitenoise.middleware import WhiteNoiseMiddleware

from carts.admin import many_carts_page
from carts.models import change_feed, manager
from cartsvc.db import time_limits
from cartsvc.db.database_url import connect_for_requests, database_at
from cartsvc.db.time_limits import LOCK_SECONDS
from tests.support.callers import Api
from tests.support.table_contents import Unchanged, table_contents

# The same inputs in every run, so that a run can be repeated. `long` looks for new ones, and
# prints how to repeat a failure.
for name, examples in {"quick": 30, "ci": 200, "long": 20_000}.items():
    hypothesis.settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize=name != "long",
        database=None,
        print_blob=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "quick")


QUICK = {str(Path(__file__).with_name(name)) for name in ("api", "models", "service", "desk")}


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Share whole folders of quick tests between the cores. Run all others in this process.

    A single file starts sooner in one process. The tests in tests/machines measure times, so
    they must not run beside others.
    """
    asked = {str(config.invocation_params.dir / arg) for arg in config.args}
    return None if asked <= QUICK else 0


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Serve requests, without the timeouts that a busy machine would exceed.

    tests/machines has them. SQLite may make the tests' own file.
    """
    connect_for_requests()
    connection.settings_dict["MUST_EXIST"] = False
    options = connection.settings_dict["OPTIONS"]
    if connection.vendor == "sqlite":
        options["timeout"] = 60
    for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
        if "SESSION" in connection.settings_dict:
            connection.settings_dict["SESSION"][name] = "0"
        if "options" in options:
            options["options"] += f" -c {name}=0"
    assert not math.isinf(change_feed.SETTLING_SECONDS)  # read before it is changed
    time_limits.REQUEST_SECONDS = manager.REQUEST_SECONDS = math.inf
    many_carts_page.BULK_SECONDS = math.inf
    if settings.DATABASE_ADMIN_URL:
        # The database is made past the pooler, which would keep connections to it.
        address = database_at(settings.DATABASE_ADMIN_URL)
        pooled.update({name: connection.settings_dict[name] for name in ADDRESS})
        connection.settings_dict.update({name: address[name] for name in ADDRESS})


ADDRESS = ("HOST", "PORT", "USER", "PASSWORD")
pooled: dict[str, Any] = {}


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Go through the pooler, if there is one, to the database that has been made."""
    if not pooled:
        yield
        return
    name, direct = connection.settings_dict["NAME"], {**connection.settings_dict}
    with django_db_blocker.unblock():
        session = connection.settings_dict["SESSION"]
        with connection.cursor() as cursor:
            for timeout in ("jit", "lock_timeout"):
                cursor.execute(f"ALTER DATABASE {name} SET {timeout} = '{session[timeout]}'")
        connection.close()
    connection.settings_dict.update(pooled)
    yield
    with django_db_blocker.unblock():
        connection.close()
        connection.settings_dict.update(direct)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid != pg_backend_pid()"
            )


@pytest.fixture(scope="session", autouse=True)
def _static_files_read_once() -> Iterator[None]:
    """Read the static files once, not for each client of a test: that took a tenth of the time."""
    read, files = WhiteNoiseMiddleware.add_files_from_finders, dict[str, Any]()

    def add(middleware: WhiteNoiseMiddleware) -> None:
        if not files:
            read(middleware)
            files.update(middleware.files)
        middleware.files.update(files)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", add)
        yield


@pytest.fixture
def usual_wait_for_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for SQLite's lock no longer than the service does."""
    if connection.vendor == "sqlite":
        monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", LOCK_SECONDS)


@pytest.fixture
def raised_limits(settings: Settings) -> None:
    """Raise the limits to those up to which everything is promised to hold."""
    settings.MAX_BODY_BYTES = 1024 * 1024
    settings.MAX_ITEMS, settings.MAX_OPTIONS, settings.MAX_CART_OPTIONS = 500, 100, 5_000


@pytest.fixture
def api(db: None) -> Api:
    return Api()


@pytest.fixture
def unchanged(db: None) -> Iterator[Unchanged]:
    """Fail the test if the database has changed since the mark.

    The mark is the start of the test, or the last call of the fixture's value.
    """
    before = [table_contents()]

    def mark() -> None:
        before[0] = table_contents()

    yield mark
    assert table_contents() == before[0]


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """Return a context in which connecting to the database fails."""

    @contextmanager
    def outage() -> Iterator[None]:
        connection.close()
        with monkeypatch.context() as patch:
            patch.setitem(connection.settings_dict, "NAME", "/nowhere/at/all")  # SQLite
            patch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
            patch.setitem(connection.settings_dict, "PORT", "1")
            yield
            connection.close()

    yield outage
    connection.close()
