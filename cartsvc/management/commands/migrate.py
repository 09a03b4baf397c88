from typing import Any

from django.core.management.commands import migrate
from django.db import connections


class Command(migrate.Command):
    """Django's own command; of two at once, one waits for the other."""

    def handle(self, *args: Any, **options: Any) -> None:
        database: Any = connections[options["database"]]  # one of cartsvc.db
        with database.migrating():
            super().handle(*args, **options)
