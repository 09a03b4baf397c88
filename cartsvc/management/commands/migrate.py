import time
from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.migrations.loader import MigrationLoader

ATTEMPTS, SECONDS_BETWEEN_ATTEMPTS = 12, 5


class Command(migrate.Command):
    """Django's own command, except that it waits: for the database, for another migration, a lock.

    Who waits for a lock on a table lets nobody pass, so that wait is short, and begins anew. A
    database whose tables another first migration made is refused.
    """

    def execute(self, *args: Any, **options: Any) -> str | None:
        database: Any = connections[options["database"]]  # a backend of cartsvc.db
        for left in reversed(range(ATTEMPTS if database.vendor == "postgresql" else 1)):
            try:
                with database.migrating():
                    return super().execute(*args, **options)
            except OperationalError as error:
                if not left:
                    raise
                self.stderr.write(f"{str(error).strip()}\n{left} more attempts follow.")
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)
        return None

    def handle(self, *args: Any, **options: Any) -> str | None:
        loader = MigrationLoader(connections[options["database"]])
        applied = loader.applied_migrations or {}
        unknown = {app for app, _ in set(loader.graph.root_nodes()) - applied.keys()}
        if unknown.isdisjoint(app for app, _ in applied):
            return super().handle(*args, **options)
        text = "A database that earlier code made cannot be migrated, and was not: use a new one."
        raise CommandError(text)
