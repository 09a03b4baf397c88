from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import dumpdata
from django.db import connections

# As "Backup and restore" of cartsvc/README.md has them, with how to restore.
BACKUPS = {
    "postgresql": "pg_dump --format=custom --file=carts.dump",
    "sqlite": (
        "python3 -c 'import sqlite3; "
        'sqlite3.connect("var/carts.sqlite3").backup(sqlite3.connect("backup.sqlite3"))\''
    ),
}


class Command(dumpdata.Command):
    """Django's own command, but not for carts.

    It reads one table after the other while customers write, and `loaddata` could not restore them.
    """

    def handle(self, *app_labels: str, **options: Any) -> None:
        named = {label.partition(".")[0] for label in app_labels} or {"carts"}
        if "carts" in named and "carts" not in options["exclude"]:
            backup = BACKUPS[connections[options["database"]].vendor]
            raise CommandError(
                f"Carts are backed up with {backup} (see cartsvc/README.md; all else is dumped "
                "with --exclude carts)."
            )
        super().handle(*app_labels, **options)
