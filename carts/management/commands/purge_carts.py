from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand
from django.db.models import Manager, Q, QuerySet
from django.utils import timezone

from carts.management.batches import MAX_RECORDS, batch_size, batches, delete_batches
from carts.management.customers import staff_log
from carts.models import Cart, DeletedCart, IdempotencyRecord
from carts.models.closing import expired
from carts.models.reads import first_key_at
from cartsvc.management.durations import duration


class Command(BaseCommand):
    help = (
        "Delete the carts that have expired (CART_DAYS, ORDERED_CART_DAYS) or that nobody has "
        "changed for a time, what is kept of deleted ones, and expired idempotency records. Safe "
        "to interrupt, to run twice at once, and while customers are writing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than",
            type=duration,
            metavar="AGE",
            help="since their last change, such as 12h, 30d or 4w, in place of the settings",
        )
        parser.add_argument(
            "--batch", type=batch_size, default=1000, help="carts in one transaction (%(default)s)"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="only count what would be deleted"
        )

    def handle(
        self, *args: Any, older_than: timedelta | None, batch: int, dry_run: bool, **options: Any
    ) -> None:
        now = timezone.now()
        if older_than is None:
            days = [days for days in (settings.CART_DAYS, settings.ORDERED_CART_DAYS) if days]
            limit = now - timedelta(days=min(days)) if days else None
            condition = expired(now)
        else:
            limit = now - older_than
            condition = Q(modified_on__lt=limit)
        if limit is None:
            self.stdout.write("Carts are kept for ever: CART_DAYS is not set.")
        else:
            carts = created_before(limit, Cart.objects, condition, batch)
            delete_batches(Cart, carts, self.stdout, dry_run=dry_run)
            condition, size = Q(deleted_on__lt=limit), min(batch, MAX_RECORDS)
            gone = created_before(limit, DeletedCart.objects, condition, size)
            delete_batches(DeletedCart, gone, self.stdout, dry_run=dry_run)
            entries = entries_of_deleted_carts(limit, batch)
            delete_batches(LogEntry, entries, self.stdout, dry_run=dry_run)
        old = IdempotencyRecord.expired_before()
        records = batches(IdempotencyRecord.objects.all(), min(batch, MAX_RECORDS))
        parts = (rows.filter(created_on__lt=old) for rows in records)
        delete_batches(IdempotencyRecord, parts, self.stdout, dry_run=dry_run)


def created_before(
    limit: datetime, carts: Manager[Any], condition: Q, batch: int
) -> Iterator[QuerySet[Any]]:
    """Yield the carts of a `condition` that were created before `limit`, a batch at a time.

    No index has the time of change. The primary key sorts carts by creation, which comes first.
    So this walks along it and stops at the first key made after `limit`.
    """
    for rows in batches(carts.filter(pk__lt=first_key_at(limit)), batch):
        yield rows.filter(condition)


def entries_of_deleted_carts(limit: datetime, batch: int) -> Iterator[QuerySet[LogEntry]]:
    """Yield the log entries before `limit` about carts that no longer exist, a batch at a time."""
    for rows in batches(staff_log().filter(action_time__lt=limit), batch):
        carts = Cart.objects.filter(pk__in=list(rows.values_list("object_id", flat=True)))
        yield rows.exclude(object_id__in=[str(key) for key in carts.values_list("pk", flat=True)])
