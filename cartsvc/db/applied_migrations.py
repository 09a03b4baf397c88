"""Whether the database has what this release's migrations make."""

from contextlib import suppress
from functools import cache

from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


@cache
def newest_migrations() -> set[tuple[str, str]]:
    """Return the last migration of each application, as of the first call."""
    return set(MigrationLoader(None).graph.leaf_nodes())


def is_migrated() -> bool:
    with suppress(DatabaseError):
        return newest_migrations() <= MigrationRecorder(connection).applied_migrations().keys()
    return False
