"""Migration operations for tables in use: nobody waits for them on PostgreSQL.

They work on SQLite as Django's own do. A migration with `AddIndex` has `atomic = False`. Beside it
stands only `ValidateCheck`: what was interrupted begins anew, and each may run twice.
A check is validated in another migration than the one that adds it.
"""

from typing import Any

from django.contrib.postgres import operations as postgresql
from django.db import connection, migrations
from django.db.migrations.state import ProjectState

_IS_POSTGRESQL = connection.vendor == "postgresql"
_ADDS_INDEX: Any = postgresql.AddIndexConcurrently if _IS_POSTGRESQL else migrations.AddIndex
_ADDS_CHECK: Any = postgresql.AddConstraintNotValid if _IS_POSTGRESQL else migrations.AddConstraint


class AddIndex(_ADDS_INDEX):  # type: ignore[misc]
    """Adds an index: concurrently on PostgreSQL."""

    def database_forwards(self, app_label: str, schema_editor: Any, *states: ProjectState) -> None:
        # An attempt that was interrupted may have left it, on PostgreSQL an invalid one.
        concurrently = "CONCURRENTLY" if _IS_POSTGRESQL else ""
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")
        super().database_forwards(app_label, schema_editor, *states)


class AddCheck(_ADDS_CHECK):  # type: ignore[misc]
    """Adds a check: of new rows only on PostgreSQL, until `ValidateCheck`.

    A `ColumnCheck` stays so: writers would wait while PostgreSQL validates that of a domain.
    """


class ValidateCheck(postgresql.ValidateConstraint):
    """Looks whether all rows pass a check. On SQLite they do already."""

    def database_forwards(self, app_label: str, schema_editor: Any, *states: ProjectState) -> None:
        if _IS_POSTGRESQL:
            super().database_forwards(app_label, schema_editor, *states)
