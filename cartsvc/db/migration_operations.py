"""Migration operations for tables in use: nobody waits for them on PostgreSQL.

They work on SQLite as Django's own do. A migration with `AddIndex` has `atomic = False`. Beside it
stand only `ValidateCheck` and `Analyze`: what was interrupted begins anew, and each may run twice.
A check is validated in another migration than the one that adds it.
"""

from collections.abc import Mapping
from typing import Any

from django.contrib.postgres import operations as postgresql
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from cartsvc.db.column_check import ColumnCheck


class ByDatabase:
    """What an operation of PostgreSQL is on SQLite: the one `elsewhere`, or nothing."""

    elsewhere: Any = None

    def database_forwards(self, app_label: str, schema_editor: Any, *states: ProjectState) -> None:
        self._run("database_forwards", app_label, schema_editor, *states)

    def database_backwards(self, app_label: str, schema_editor: Any, *states: ProjectState) -> None:
        self._run("database_backwards", app_label, schema_editor, *states)

    def _run(self, way: str, app_label: str, schema_editor: Any, *states: ProjectState) -> None:
        if schema_editor.connection.vendor == "postgresql":
            getattr(super(), way)(app_label, schema_editor, *states)
        elif self.elsewhere:
            getattr(self.elsewhere, way)(self, app_label, schema_editor, *states)


class AddIndex(ByDatabase, postgresql.AddIndexConcurrently):
    """Adds an index: concurrently on PostgreSQL."""

    elsewhere = migrations.AddIndex

    def database_forwards(self, app_label: str, schema_editor: Any, *states: ProjectState) -> None:
        # An attempt that was interrupted may have left it, on PostgreSQL an invalid one.
        concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")
        super().database_forwards(app_label, schema_editor, *states)


class LongerText(migrations.AlterField):
    """Lets a text be longer. Checks and partial indexes of it are taken away before.

    For these, PostgreSQL would read the table or build them anew while everybody waits.
    """


class AddCheck(ByDatabase, postgresql.AddConstraintNotValid):
    """Adds a check: of new rows only on PostgreSQL, until `ValidateCheck`.

    A `ColumnCheck` stays so: writers would wait while PostgreSQL validates that of a domain.
    """

    elsewhere = migrations.AddConstraint


class ValidateCheck(ByDatabase, postgresql.ValidateConstraint):
    """Looks whether all rows pass a check. On SQLite they do already."""


class MoveChecksToColumns(Operation):
    """Makes validated checks, by their names, a `ColumnCheck` of a field each. Reads no table.

    Partial indexes of these fields are taken away before, as for a longer text.
    """

    def __init__(self, model_name: str, fields: Mapping[str, str]) -> None:
        self.model_name, self.fields = model_name, fields

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        model = (app_label, self.model_name)
        for name, field in self.fields.items():
            condition = state.models[model].get_constraint_by_name(name).condition
            state.remove_constraint(*model, name)
            state.add_constraint(*model, ColumnCheck(field=field, name=name, condition=condition))

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            _, after = states
            for name in self.fields:
                new = after.models[app_label, self.model_name].get_constraint_by_name(name)
                remove = migrations.RemoveConstraint(self.model_name, name)
                for operation in (remove, AddCheck(self.model_name, new)):
                    operation.database_forwards(app_label, schema_editor, *states)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        self.database_forwards(app_label, schema_editor, *states)


class Analyze(ByDatabase, migrations.RunSQL):
    """Gathers a table's statistics: PostgreSQL forgets a column's when its type changes."""

    def __init__(self, table: str) -> None:
        super().__init__(f"ANALYZE {table}", migrations.RunSQL.noop)
