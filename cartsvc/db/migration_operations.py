"""Migration operations for tables in use: nobody waits for them on PostgreSQL.

They work on SQLite as Django's own do. A migration with `AddIndex` has `atomic = False`. Beside it
stands only `ValidateCheck`: what was interrupted begins anew, and both may run twice. A check is
validated in another migration than the one that adds it.
"""

from django.contrib.postgres import operations as postgresql
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState


class AddIndex(postgresql.AddIndexConcurrently):
    """Adds an index: concurrently on PostgreSQL."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        # An attempt that was interrupted may have left it, on PostgreSQL an invalid one.
        name = schema_editor.quote_name(self.index.name)
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            super().database_forwards(app_label, schema_editor, *states)
        else:
            schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
            migrations.AddIndex.database_forwards(self, app_label, schema_editor, *states)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, *states)
        else:
            migrations.AddIndex.database_backwards(self, app_label, schema_editor, *states)


class LongerText(migrations.AlterField):
    """Lets a text be longer. Checks and partial indexes of it are taken away before.

    For these, PostgreSQL would read the table or build them anew while everybody waits.
    """


class AddCheck(postgresql.AddConstraintNotValid):
    """Adds a check: of new rows only on PostgreSQL, until `ValidateCheck`."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, *states)
        else:
            migrations.AddConstraint.database_forwards(self, app_label, schema_editor, *states)


class ValidateCheck(postgresql.ValidateConstraint):
    """Looks whether all rows pass a check. On SQLite they do already."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, *states)
