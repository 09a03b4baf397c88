"""Migrations run while the service does: none may keep callers waiting.

They are judged by their operations, so that SQLite refuses what would wait on PostgreSQL.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, migrations, models
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.db.models.functions import Random
from django.test.utils import CaptureQueriesContext

from cartsvc.db.column_check import ColumnCheck
from cartsvc.db.migration_operations import AddCheck, AddIndex, ValidateCheck
from tests.support.factories import CartFactory
from tests.support.programs import ROOT

pytestmark = pytest.mark.django_db(transaction=True)

FIRST = "0001_initial"

HINT = """
Callers wait for as long as the table is large. Instead, from cartsvc.db.migration_operations:
- an index: AddIndex; a unique constraint can then use it (ALTER TABLE ... ADD CONSTRAINT ...
  UNIQUE USING INDEX);
- a check of a column that is new: AddCheck of a ColumnCheck;
- of one with rows: AddCheck of a CheckConstraint, and ValidateCheck in a migration of its own;
- a foreign key: ALTER TABLE ... ADD CONSTRAINT ... NOT VALID, and VALIDATE CONSTRAINT likewise;
- NOT NULL: a validated check of IS NOT NULL first, which PostgreSQL then relies on;
- another type, or a longer text: a new column, filled by a command in batches (like
  recount_carts), then used;
- rows: a command that changes them in batches.
What waits for nobody, and is none of these, is added to HARMLESS.
"""
# Each holds a lock that stops writers for a moment only, or none.
HARMLESS = (migrations.CreateModel, migrations.RemoveIndex, AddIndex, AddCheck, ValidateCheck)
# Each may run twice, and reads a table without such a lock, unless one before it has taken it.
REPEATABLE = (AddIndex, ValidateCheck)


def keeps_callers_waiting(operation: Operation) -> bool:
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        return any(map(keeps_callers_waiting, operation.database_operations))
    if not isinstance(operation, migrations.AddField):
        return not isinstance(operation, HARMLESS)
    field = operation.field
    field.set_attributes_from_name(operation.name)
    computed = hasattr(field.db_default, "resolve_expression")
    looked_at = field.unique or field.db_index or field.db_check(connection)
    return bool(computed or looked_at or not (field.null or field.has_db_default()))


def later() -> list[Migration]:
    """Return the migrations of carts after the first one."""
    found = MigrationLoader(connection).disk_migrations
    return [one for (app, name), one in found.items() if app == "carts" and name != FIRST]


def test_no_migration_keeps_callers_waiting() -> None:
    for migration in later():
        assert [one for one in migration.operations if keeps_callers_waiting(one)] == [], HINT


def not_repeatable(migration: Migration) -> list[Operation]:
    """Return what may not stand in a migration that is not atomic, or validates a check.

    One that was interrupted keeps what it has done, and begins with it anew.
    """
    operations = migration.operations
    if migration.atomic and not any(isinstance(one, ValidateCheck) for one in operations):
        return []
    return [one for one in operations if not isinstance(one, REPEATABLE)]


def test_what_is_not_atomic_or_validates_holds_no_lock_and_can_run_again() -> None:
    for migration in later():
        assert not_repeatable(migration) == [], HINT


POSITIVE = models.CheckConstraint(name="x", condition=models.Q(menu_version__gte=0))
CART = models.ForeignKey("carts.cart", models.CASCADE, null=True)


@pytest.mark.parametrize(
    ("operation", "waits"),
    [
        (migrations.AddIndex("cartitem", models.Index(fields=["menu_key"], name="x")), True),
        (migrations.AlterField("cartitem", "quantity", models.BigIntegerField()), True),
        (migrations.AddConstraint("cartitem", POSITIVE), True),
        (migrations.RemoveConstraint("cartitem", "carts_cartitem_menu_key_line"), True),
        (migrations.RunPython(migrations.RunPython.noop), True),
        (migrations.RunSQL("UPDATE carts_cart SET platform = 'web'"), True),
        (migrations.AddField("cartitem", "x", CART), True),
        (migrations.AddField("cartitem", "x", models.IntegerField()), True),
        (migrations.AddField("cartitem", "x", models.FloatField(db_default=Random())), True),
        (migrations.AddField("cartitem", "x", models.PositiveIntegerField(null=True)), True),
        (migrations.AddField("cartitem", "x", models.TextField(null=True)), False),
        (migrations.AddField("cartitem", "x", models.IntegerField(db_default=0)), False),
        (AddCheck("cartitem", POSITIVE), False),
    ],
    ids=lambda value: value.describe() if isinstance(value, Operation) else "",
)
def test_what_keeps_callers_waiting(operation: Operation, waits: bool) -> None:
    assert keeps_callers_waiting(operation) == waits


NEW = migrations.AddField("cart", "x", models.TextField(null=True))
INDEX = AddIndex("cart", models.Index(fields=["created_on"], name="x"))
VALIDATE = ValidateCheck("cart", "x")


@pytest.mark.parametrize(
    ("atomic", "operations", "wrong"),
    [
        (True, [NEW], []),
        (True, [VALIDATE, NEW], [NEW]),
        (False, [INDEX, VALIDATE], []),
        (False, [INDEX, NEW], [NEW]),
    ],
)
def test_what_can_run_again(
    atomic: bool, operations: list[Operation], wrong: list[Operation]
) -> None:
    migration = Migration("example", "carts")
    migration.operations, migration.atomic = operations, atomic
    assert not_repeatable(migration) == wrong


@contextmanager
def applied(*operations: Operation, atomic: bool = True) -> Iterator[str]:
    """Apply operations as a migration. Yield their SQL, and take them back at the end."""
    migration = Migration("example", "carts")
    migration.operations, migration.atomic = list(operations), atomic
    with (
        CaptureQueriesContext(connection) as queries,
        connection.schema_editor(atomic=atomic) as editor,
    ):
        migration.apply(landed(), editor)
    try:
        yield "\n".join(query["sql"] for query in queries)
    finally:
        with connection.schema_editor(atomic=atomic) as editor:
            migration.unapply(landed(), editor)


def landed() -> ProjectState:
    loader = MigrationLoader(connection)
    return loader.project_state(loader.graph.leaf_nodes("carts"))


def test_an_index_is_added_on_either_database() -> None:
    CartFactory()
    index = models.Index(fields=["created_on"], name="x")
    # As an attempt that failed would leave it.
    connection.cursor().execute("CREATE INDEX x ON carts_cart (platform)")
    with applied(AddIndex("cart", index), atomic=False) as sql:
        assert indexes()["x"]["columns"] == ["created_on"]
    if connection.vendor == "postgresql":
        assert sql.count("INDEX CONCURRENTLY") == 2
    assert "x" not in indexes()


def test_a_check_is_added_on_either_database() -> None:
    CartFactory()
    check = models.CheckConstraint(name="x", condition=models.Q(restaurant_key__gt=0))
    with applied(AddCheck("cart", check)) as sql:
        assert "x" in indexes()
        with connection.schema_editor() as editor:
            ValidateCheck("cart", "x").database_forwards("carts", editor, landed(), landed())
    if connection.vendor == "postgresql":
        assert "NOT VALID" in sql
    assert "x" not in indexes()


def test_a_new_column_or_table_has_its_check() -> None:
    """It may come again: what is dropped leaves nothing behind."""
    CartFactory()
    check = ColumnCheck(field="x", name="carts_x_valid", condition=models.Q(x="valid"))
    text, key = models.TextField(null=True), models.AutoField(primary_key=True)
    column = [migrations.AddField("cart", "x", text), AddCheck("cart", check)]
    table = migrations.CreateModel("X", [("id", key), ("x", text)], {"constraints": [check]})
    for operations, write in (
        (column, "UPDATE carts_cart SET x = %s"),
        ([table], "INSERT INTO carts_x (x) VALUES (%s)"),
    ) * 2:
        with applied(*operations), connection.cursor() as cursor:
            cursor.execute(write, ["valid"])
            with pytest.raises(IntegrityError):
                cursor.execute(write, ["invalid"])


@pytest.mark.parametrize("target", [(), ("carts", "zero")], ids=["to the newest", "back"])
def test_a_database_that_earlier_code_made_is_refused_and_not_touched(target: tuple[str]) -> None:
    recorder = MigrationRecorder(connection)
    of_carts = recorder.migration_qs.filter(app="carts")
    of_carts.filter(name=FIRST).update(name="0001_carts")
    before = recorder.applied_migrations().keys(), connection.introspection.table_names()
    try:
        with pytest.raises(CommandError, match="earlier code made cannot be migrated"):
            call_command("migrate", *target, verbosity=0)
        assert before == (
            recorder.applied_migrations().keys(),
            connection.introspection.table_names(),
        )
    finally:
        of_carts.filter(name="0001_carts").update(name=FIRST)


def test_the_first_migration_has_another_name_once_it_is_another() -> None:
    """By its name `migrate` knows the databases that it made."""
    written = (ROOT / f"carts/migrations/{FIRST}.py").read_bytes()
    assert sha256(written).hexdigest()[:16] == "67eb4710685cc2e5", "Give it a new name, too."


def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "--check", "--dry-run", stdout=StringIO())


def indexes() -> dict[str, Any]:
    with connection.cursor() as cursor:
        return connection.introspection.get_constraints(cursor, "carts_cart")
