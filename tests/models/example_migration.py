"""The migration to copy when a table needs an index. Nobody waits for it, on either database.

If it fails, for instance because a transaction has been open for longer than LOCK_SECONDS,
run it again. `test_migrations.py` runs it.
"""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class AddIndexUnderLoad(AddIndexConcurrently):
    """Adds an index: concurrently on PostgreSQL, as always on SQLite."""

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            # An earlier attempt that failed has left an invalid index.
            name = schema_editor.quote_name(self.index.name)
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            super().database_forwards(app_label, schema_editor, *states)
        else:
            migrations.AddIndex.database_forwards(self, app_label, schema_editor, *states)

    def database_backwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, *states)
        else:
            migrations.AddIndex.database_backwards(self, app_label, schema_editor, *states)


class Migration(migrations.Migration):
    atomic = False  # PostgreSQL builds no index concurrently within a transaction

    dependencies = [("carts", "0006_version_of_64_bits")]

    operations = [
        AddIndexUnderLoad("cart", models.Index(fields=["created_on"], name="carts_cart_created_on"))
    ]
