from argparse import ArgumentParser
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from carts.management.batches import BATCH, Kinds, any_left, batches, counted, delete_batches
from carts.management.durations import duration
from carts.models import Cart, DeletedCart, IdempotencyRecord, MovedCart
from carts.models.cart_status import expired, has_status
from carts.models.idempotency import KEPT_TIME
from carts.records import CHECKOUT
from cartsvc.guids import first_key_at
from cartsvc.json_values import rfc3339

# How far the clocks of this machine and of the database may differ.
CLOCKS_DIFFER = timedelta(minutes=1)


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
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")
        parser.add_argument("--force", action="store_true", help="whatever SQLite's clock says")

    def handle(self, *, older_than: timedelta | None, dry_run: bool, force: bool, **_: Any) -> None:
        now, clock = timezone.now(), connection.clock()  # type: ignore[attr-defined] # of cartsvc.db
        moment = clock or now
        if abs(now - moment) > CLOCKS_DIFFER:
            raise CommandError(
                f"Set the clocks: this machine says {rfc3339(now)}, the database {rfc3339(moment)}."
            )
        told = counted(expired_rows(moment, older_than))
        self.stdout.write(f"At {rfc3339(moment)}, {told} would be deleted.")
        self.stdout.flush()
        if dry_run:
            return
        days = filter(None, (settings.CART_DAYS, settings.ORDERED_CART_DAYS))
        half = (older_than or timedelta(days=min(days, default=0))) / 2
        new = Cart.objects.filter(modified_on__gt=moment - half)
        is_sure = clock or force or not half or new.exists() or not Cart.objects.exists()
        if not is_sure and any_left(expired_rows(moment, older_than)):
            raise CommandError(
                "By this machine's clock, no cart has changed for half of the time that carts are "
                "kept: set the clock, or if it is right, add --force."
            )
        for model, querysets in expired_rows(moment, older_than):
            delete_batches(model, querysets, self.stdout)


def expired_rows(moment: datetime, older_than: timedelta | None) -> Kinds:
    days = settings.CART_DAYS, settings.ORDERED_CART_DAYS
    # No index has the time of change. The key sorts carts by creation, which comes first.
    if any(days) or older_than:
        limit = moment - (older_than or timedelta(days=min(filter(None, days))))
        old = Q(modified_on__lt=limit) if older_than else expired(moment)
        paying = has_status(CHECKOUT, moment)
        yield Cart, [Cart.objects.filter(old, ~paying, pk__lt=first_key_at(limit))]
    if all(days) or older_than:
        limit = moment - (older_than or timedelta(days=max(days)))
        first = first_key_at(limit)
        yield DeletedCart, [DeletedCart.objects.filter(pk__lt=first, deleted_on__lt=limit)]
        yield MovedCart, [MovedCart.objects.filter(cart_id__lt=first, moved_on__lt=limit)]
        entries = LogEntry.objects.filter(staff_entry__isnull=False, action_time__lt=limit)
        yield LogEntry, map(of_deleted_carts, batches(entries, BATCH))
    yield IdempotencyRecord, [IdempotencyRecord.objects.filter(created_on__lt=moment - KEPT_TIME)]


def of_deleted_carts(entries: QuerySet[LogEntry]) -> QuerySet[LogEntry]:
    keys = entries.values_list("staff_entry__cart_id", flat=True)
    kept = Cart.objects.filter(pk__in=list(keys)).values_list("pk", flat=True)
    return entries.exclude(staff_entry__cart_id__in=list(kept))
