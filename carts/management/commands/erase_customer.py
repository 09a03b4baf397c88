from argparse import ArgumentParser
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Model, QuerySet

from carts.management.delete_batches import delete_batches
from carts.models import Cart, DeletedCart, IdempotencyRecord


class Command(BaseCommand):
    help = (
        "Erase all that is held of a customer: carts with their items and histories, what is kept "
        "of deleted ones, what staff's log says of them, and idempotency records. Safe to "
        "interrupt, to repeat, and while customers are writing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("profile_key", type=UUID, help="the customer's")
        parser.add_argument("--dry-run", action="store_true", help="only count what would go")

    def handle(self, *, profile_key: UUID, dry_run: bool, **options: object) -> None:
        held = rows_of_customer(profile_key)
        for rows in held:
            delete_batches(rows, self.stdout, dry_run=dry_run)
        if not dry_run and any(rows.exists() for rows in held):
            raise CommandError("Some of it is being changed. Run the command again.")


def rows_of_customer(profile_key: UUID) -> list[QuerySet[Model]]:
    """Return all that is held of a customer. What belongs to a cart goes with it."""
    return [
        Cart.objects.filter(profile_key=profile_key).order_by("pk"),
        LogEntry.objects.filter(staff_entry__profile_key=profile_key).order_by("pk"),
        DeletedCart.objects.filter(profile_key=profile_key),
        IdempotencyRecord.objects.filter(profile_key=profile_key),
    ]
