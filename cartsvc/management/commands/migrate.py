import time
from typing import Any

from django.core.management.commands import migrate
from django.db import OperationalError, connections

MIGRATION_ATTEMPTS = 12
SECONDS_BETWEEN_ATTEMPTS = 5


class Command(migrate.Command):
    """Django's own command, except that it waits: for the database, for another migration, a lock.

    Who waits for a lock on a table lets nobody pass, so that wait is short, and begins anew.
    """

    def execute(self, *args: Any, **options: Any) -> str | None:
        database: Any = connections[options["database"]]  # a backend of cartsvc.db
        for left in reversed(range(MIGRATION_ATTEMPTS if database.vendor == "postgresql" else 1)):
            try:
                with database.migrating():
                    return super().execute(*args, **options)
            except OperationalError as error:
                if not left:
                    raise
                self.stderr.write(f"{str(error).strip()}\n{left} more attempts follow.")
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)
        return None
