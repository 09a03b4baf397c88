from typing import Any

from django.core.management.commands import migrate
from django.db import connections


class Command(migrate.Command):
    """Django's own command, except that two at once run one after the other."""

    def handle(self, *args: Any, **options: Any) -> None:
        database: Any = connections[options["database"]]  # a backend of cartsvc.db
        with database.migrating():
            super().handle(*args, **options)
