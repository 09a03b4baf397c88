"""Migrations run while the service does: none may keep callers waiting.

A migration is watched as it runs, not judged by its text, which does not tell whether PostgreSQL
reads or rewrites a table.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.postgres.operations import AddConstraintNotValid
from django.core.management import call_command
from django.db import connection, migrations, models, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from carts.models import IdempotencyRecord
from cartsvc.db import migration_operations
from tests.support.callers import PROFILE
from tests.support.factories import CartFactory, ItemFactory

pytestmark = pytest.mark.django_db(transaction=True)
on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite locks its file, not tables"
)

BEFORE = "0001_carts"

HINT = """
Callers wait for as long as the table is large. Instead, from cartsvc.db.migration_operations:
- an index: AddIndex; a unique constraint can then use it (ALTER TABLE ... ADD CONSTRAINT ...
  UNIQUE USING INDEX);
- a check: AddCheck, and ValidateCheck in a migration of its own;
- a foreign key: ALTER TABLE ... ADD CONSTRAINT ... NOT VALID, and VALIDATE CONSTRAINT likewise;
- NOT NULL: a validated check of IS NOT NULL first, which PostgreSQL then relies on;
- another type: a new column, filled by a command in batches (like recount_carts), then used;
- rows: a command that changes them in batches.
"""
# What `makemigrations` writes, and may read a table under its lock.
SLOW = (migrations.AddIndex, migrations.AddConstraint, migrations.AlterField, migrations.RunPython)

# Those that conflict with ROW EXCLUSIVE, which every writer takes.
STOPS_WRITERS = "'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'"
TABLES = f"""
    SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0), n_tup_upd + n_tup_del, EXISTS (
        SELECT FROM pg_locks
        WHERE relation = relid AND pid = pg_backend_pid() AND mode IN ({STOPS_WRITERS})
    )
    FROM pg_stat_xact_user_tables
"""


class Watch:
    """An execute wrapper that notes what would keep callers of a large database waiting.

    That is a statement that reads a table's rows while its transaction holds a lock that stops
    writers, and one that changes rows of carts, which are then locked until the end.
    """

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.grown = {model._meta.db_table for model in apps.get_app_config("carts").get_models()}

    def __call__(self, execute: Callable[..., Any], sql: Any, *arguments: Any) -> Any:
        if "CONCURRENTLY" in str(sql).upper():
            return execute(sql, *arguments)  # stops no writer, and runs in no transaction
        # The locks of a statement that has no transaction would be gone afterwards.
        with nullcontext() if connection.in_atomic_block else transaction.atomic():
            before = self.tables()
            result = execute(sql, *arguments)
            for table, (read, changed, locked) in self.tables().items():
                earlier = before.get(table, (0, 0, False))
                if locked and read > earlier[0]:
                    self.found.add(f"{table} is read under a lock")
                if table in self.grown and changed > earlier[1]:
                    self.found.add(f"{table} is changed")
        return result

    def tables(self) -> dict[str, tuple[int, int, bool]]:
        """Return for each table the rows read and changed so far, and whether it is locked."""
        found = connection.connection.execute(TABLES)  # the driver's, which nobody watches
        return {table: (read, changed, locked) for table, read, changed, locked in found}


@contextmanager
def watched() -> Iterator[Watch]:
    watch = Watch()
    with connection.execute_wrapper(watch):
        yield watch


@pytest.fixture
def rows() -> None:
    """Have rows in every table that grows: only a table that has rows takes time."""
    LogEntry.objects.create(user=get_user_model().objects.create(), action_flag=ADDITION)
    CartFactory(items=[ItemFactory(with_option=True)])
    IdempotencyRecord.of_request(PROFILE, None, "key", [])


@on_postgresql
def test_no_migration_keeps_callers_waiting(rows: None) -> None:
    found: dict[str, set[str]] = {}
    graph = MigrationExecutor(connection).loader.graph
    [newest] = graph.leaf_nodes("carts")
    later = [name for app, name in graph.forwards_plan(newest) if app == "carts" and name > BEFORE]
    try:
        migrate_to(BEFORE)
        for name in later:
            with watched() as watch:
                migrate_to(name)
            if watch.found:
                found[name] = watch.found
    finally:
        migrate_to(newest[1])
    assert found == {}, HINT


def migrate_to(name: str) -> None:
    MigrationExecutor(connection).migrate([("carts", name)])


@contextmanager
def applied(*operations: Operation, atomic: bool = True) -> Iterator[None]:
    """Apply operations as a migration, and take them back at the end."""
    migration = migrations.Migration("example", "carts")
    migration.operations, migration.atomic = list(operations), atomic
    with connection.schema_editor(atomic=atomic) as editor:
        migration.apply(landed(), editor)
    try:
        yield
    finally:
        with connection.schema_editor(atomic=atomic) as editor:
            migration.unapply(landed(), editor)


def landed() -> ProjectState:
    loader = MigrationExecutor(connection).loader
    return loader.project_state(loader.graph.leaf_nodes("carts"))


def touch_all(apps: Any, _editor: Any) -> None:
    apps.get_model("carts", "Cart").objects.update(platform="web")


POSITIVE = models.CheckConstraint(name="x", condition=models.Q(menu_version__gte=0))
READ, CHANGED = "carts_cartitem is read under a lock", "carts_cart is changed"


@on_postgresql
@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize(
    ("operation", "found"),
    [
        (migrations.AddIndex("cartitem", models.Index(fields=["menu_key"], name="x")), {READ}),
        (migrations.AlterField("cartitem", "quantity", models.BigIntegerField()), {READ}),
        (migrations.RunPython(touch_all, migrations.RunPython.noop), {CHANGED}),
        (migrations.AddField("cartitem", "x", models.IntegerField(db_default=0)), set()),
        (migrations.AddConstraint("cartitem", POSITIVE), {READ}),
        (AddConstraintNotValid("cartitem", POSITIVE), set()),
    ],
    ids=lambda value: value.describe() if isinstance(value, Operation) else "",
)
def test_what_keeps_callers_waiting(
    rows: None, operation: Operation, found: set[str], atomic: bool
) -> None:
    with watched() as watch, applied(operation, atomic=atomic):
        seen = set(watch.found)
    assert seen == found


def test_an_index_is_added_on_either_database(rows: None) -> None:
    index = models.Index(fields=["created_on"], name="x")
    # As an attempt that failed would leave it.
    connection.cursor().execute("CREATE INDEX x ON carts_cart (platform)")
    watching = watched() if connection.vendor == "postgresql" else nullcontext(Watch())
    with watching as watch, applied(migration_operations.AddIndex("cart", index), atomic=False):
        assert indexes()["x"]["columns"] == ["created_on"]
    assert watch.found == set()
    assert "x" not in indexes()


def test_a_check_is_added_on_either_database(rows: None) -> None:
    check = models.CheckConstraint(name="x", condition=models.Q(restaurant_key__gt=0))
    added = (
        migration_operations.AddCheck("cart", check),
        migration_operations.ValidateCheck("cart", "x"),
    )
    watching = watched() if connection.vendor == "postgresql" else nullcontext(Watch())
    with watching as watch, applied(*added[:1]):
        assert "x" in indexes()
        with connection.schema_editor() as editor:
            added[1].database_forwards("carts", editor, landed(), landed())
    assert watch.found == set()
    assert "x" not in indexes()


def test_a_migration_that_would_keep_callers_waiting_is_refused_here_too() -> None:
    """What PostgreSQL shows above, SQLite cannot."""
    loader = MigrationExecutor(connection).loader
    for (app, name), migration in loader.disk_migrations.items():
        if app == "carts" and name > BEFORE:
            assert [type(each) for each in migration.operations if type(each) in SLOW] == [], HINT


def test_a_migration_that_was_interrupted_can_run_again() -> None:
    """What is not atomic keeps what it has done, and begins with it anew."""
    repeatable = migration_operations.AddIndex, migration_operations.ValidateCheck
    loader = MigrationExecutor(connection).loader
    for (app, _), migration in loader.disk_migrations.items():
        if app == "carts" and not migration.atomic:
            assert [one for one in migration.operations if not isinstance(one, repeatable)] == []


def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "--check", "--dry-run", stdout=StringIO())


def indexes() -> dict[str, Any]:
    with connection.cursor() as cursor:
        return connection.introspection.get_constraints(cursor, "carts_cart")
