"""Migration operations for tables in use: nobody waits for them on PostgreSQL.

They work on SQLite as Django's own do. A migration with `AddIndex` has `atomic = False`. Beside it
stands only `ValidateCheck`: what was interrupted begins anew, and each may run twice.
A check is validated in another migration than the one that adds it.
"""

from typing import Any

from django.contrib.postgres import operations as postgresql
from django.db import migrations
from django.db.migrations.state import ProjectState


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


class AddCheck(ByDatabase, postgresql.AddConstraintNotValid):
    """Adds a check: of new rows only on PostgreSQL, until `ValidateCheck`.

    A `ColumnCheck` stays so: writers would wait while PostgreSQL validates that of a domain.
    """

    elsewhere = migrations.AddConstraint


class ValidateCheck(ByDatabase, postgresql.ValidateConstraint):
    """Looks whether all rows pass a check. On SQLite they do already."""
