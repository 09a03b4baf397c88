import time
from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import OperationalError, connections

SECONDS_BETWEEN_ATTEMPTS = 5


class Command(migrate.Command):
    """Django's own command, except that it waits: for the database, for another migration, a lock.

    Who waits for a lock on a table lets nobody pass, so that wait is short, and begins anew.
    """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        text = (
            f"how often to try PostgreSQL, every {SECONDS_BETWEEN_ATTEMPTS} seconds (%(default)s)"
        )
        parser.add_argument("--attempts", type=int, default=12, help=text)

    def execute(self, *args: Any, **options: Any) -> str | None:
        database: Any = connections[options["database"]]  # a backend of cartsvc.db
        last = options["attempts"] if database.vendor == "postgresql" else 1
        attempt = 1
        while True:
            try:
                with database.migrating():
                    return super().execute(*args, **options)
            except OperationalError as error:
                if attempt >= last:
                    raise
                attempt += 1
                text = f"Attempt {attempt} of {last} follows in {SECONDS_BETWEEN_ATTEMPTS} seconds."
                self.stderr.write(f"{str(error).strip()}\n{text}")
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)
