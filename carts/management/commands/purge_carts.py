from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime, timedelta
from time import sleep
from typing import Any

from django.core.management.base import BaseCommand
from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from tqdm import tqdm

from carts.management.batches import batch_size, batches
from carts.models import Cart, IdempotencyRecord
from cartsvc.db.keys import first_key_at
from cartsvc.management.durations import duration

ATTEMPTS = 5

# In one transaction. Their key has several columns, and SQLite takes under 1,000 such conditions.
MAX_RECORDS = 500


class Command(BaseCommand):
    help = (
        "Delete the carts that nobody has changed for a time, and expired idempotency records. "
        "Safe to interrupt, to run twice at once, and while customers are writing."
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
            "--batch",
            type=batch_size,
            default=1000,
            help="carts in one transaction (%(default)s)",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="only count what would be deleted"
        )

    def handle(
        self, *args: Any, older_than: timedelta, batch: int, dry_run: bool, **options: Any
    ) -> None:
        verb = "would be deleted" if dry_run else "deleted"
        expired = IdempotencyRecord.expired_before()
        for name, parts in (
            ("carts", expired_carts(timezone.now() - older_than, batch)),
            ("idempotency records", expired_records(expired, min(batch, MAX_RECORDS))),
        ):
            gone, terminal = 0, self.stdout.isatty()
            with tqdm(desc=name, unit="", disable=not terminal) as progress:
                for rows in parts:
                    done = rows.count() if dry_run else delete(rows)
                    gone += done
                    progress.update(done)
                    if not terminal:
                        self.stdout.write(f"{done} {name} {verb}, {gone} so far")
            self.stdout.write(f"{gone} {name} {verb}.")


def expired_carts(limit: datetime, batch: int) -> Iterator[QuerySet[Cart]]:
    """Yield the carts last changed before `limit`, a batch at a time.

    There is no index on the time of change. The primary key sorts carts by creation, and a
    cart is never changed before it is created. So this walks along the primary key and stops
    at the first key made after `limit`.
    """
    candidates = Cart.objects.filter(pk__lt=first_key_at(limit))
    for first, last in batches(candidates, batch):
        yield Cart.objects.filter(pk__gte=first, pk__lte=last, modified_on__lt=limit)


def expired_records(limit: datetime, batch: int) -> Iterator[QuerySet[IdempotencyRecord]]:
    """Yield the idempotency records created before `limit`, a batch at a time."""
    for first, last in batches(IdempotencyRecord.objects.all(), batch):
        yield IdempotencyRecord.objects.filter(pk__gte=first, pk__lte=last, created_on__lt=limit)


def delete(rows: QuerySet[Any]) -> int:
    """Delete the rows except those that are being changed. Return how many were deleted.

    Raises:
        OperationalError: the database was still busy at the last attempt.
    """
    for attempt in range(ATTEMPTS):
        try:
            with transaction.atomic():
                # Lock the rows before deleting them. A row that is being changed is skipped. A
                # row that has just been changed is read again, and no longer matches.
                keys = list(
                    rows.select_for_update(
                        skip_locked=connection.features.has_select_for_update_skip_locked
                    ).values_list("pk", flat=True)
                )
                rows.model.objects.filter(pk__in=keys).delete()
                return len(keys)
        except OperationalError:  # SQLite has one writer at a time and may be busy for long
            if attempt == ATTEMPTS - 1:
                raise
            sleep(1)
    return 0
