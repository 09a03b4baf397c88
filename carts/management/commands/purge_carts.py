from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand
from django.db.models import QuerySet
from django.utils import timezone

from carts.management.batches import MAX_RECORDS, batch_size, batches, delete_batches
from carts.management.customers import staff_log
from carts.models import Cart, IdempotencyRecord
from carts.models.reads import first_key_at
from cartsvc.management.durations import duration


class Command(BaseCommand):
    help = (
        "Delete the carts that nobody has changed for a time, what staff's log says of them, and "
        "expired idempotency records. Safe to interrupt, to run twice at once, and while customers "
        "are writing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than",
            type=duration,
            required=True,
            metavar="AGE",
            help="since their last change, such as 12h, 30d or 4w",
        )
        parser.add_argument(
            "--batch", type=batch_size, default=1000, help="carts in one transaction (%(default)s)"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="only count what would be deleted"
        )

    def handle(
        self, *args: Any, older_than: timedelta, batch: int, dry_run: bool, **options: Any
    ) -> None:
        limit, expired = timezone.now() - older_than, IdempotencyRecord.expired_before()
        records = batches(IdempotencyRecord.objects.all(), min(batch, MAX_RECORDS))
        for name, parts in (
            ("carts", expired_carts(limit, batch)),
            ("log entries", entries_of_deleted_carts(limit, batch)),
            ("idempotency records", (rows.filter(created_on__lt=expired) for rows in records)),
        ):
            delete_batches(name, parts, self.stdout, dry_run=dry_run)


def expired_carts(limit: datetime, batch: int) -> Iterator[QuerySet[Cart]]:
    """Yield the carts last changed before `limit`, a batch at a time.

    No index has the time of change. The primary key sorts carts by creation, which comes first.
    So this walks along it and stops at the first key made after `limit`.
    """
    candidates = Cart.objects.filter(pk__lt=first_key_at(limit))
    for rows in batches(candidates, batch):
        yield rows.filter(modified_on__lt=limit)


def entries_of_deleted_carts(limit: datetime, batch: int) -> Iterator[QuerySet[LogEntry]]:
    """Yield the log entries before `limit` about carts that no longer exist, a batch at a time."""
    for rows in batches(staff_log().filter(action_time__lt=limit), batch):
        carts = Cart.objects.filter(pk__in=list(rows.values_list("object_id", flat=True)))
        yield rows.exclude(object_id__in=[str(key) for key in carts.values_list("pk", flat=True)])
