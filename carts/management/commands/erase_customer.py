import sys
from argparse import ArgumentParser
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from carts.management.customer_data import rows_of_customer
from carts.management.delete_batches import delete_batches


class Command(BaseCommand):
    help = (
        "Erase all that is held of a customer: carts with their items and histories, what is kept "
        "of deleted ones, what staff's log says of them, and idempotency records. Safe to "
        "interrupt, to repeat, and while customers are writing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("profile_key", type=UUID, help="the customer's")
        parser.add_argument("--dry-run", action="store_true", help="only count what would go")
        parser.add_argument("--no-input", "--noinput", action="store_true", help="do not ask first")

    def handle(
        self, *, profile_key: UUID, dry_run: bool, no_input: bool, **options: object
    ) -> None:
        held = rows_of_customer(profile_key)
        if not dry_run and not no_input:
            self.stdout.write("It will be lost for good. Type 'yes' to erase it.")
            if sys.stdin.readline().strip() != "yes":
                raise CommandError("Nothing was erased. To erase without a terminal: --no-input.")
        for rows in held:
            delete_batches(rows, self.stdout, dry_run=dry_run)
        if not dry_run and any(rows.exists() for rows in held):
            raise CommandError("Some of it is being changed. Run the command again.")
