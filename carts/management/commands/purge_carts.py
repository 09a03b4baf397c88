from argparse import ArgumentParser
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand
from django.db.models import Q, QuerySet
from django.utils import timezone

from carts.management.batches import delete_batches
from carts.management.durations import duration
from carts.models import Cart, DeletedCart, IdempotencyRecord, MovedCart
from carts.models.cart_status import expired, has_status
from carts.records import CHECKOUT
from cartsvc.guids import first_key_at


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
            "--dry-run", action="store_true", help="only count what would be deleted"
        )

    def handle(self, *, older_than: timedelta | None, dry_run: bool, **options: object) -> None:
        delete = partial(delete_batches, out=self.stdout, dry_run=dry_run)
        moment = timezone.now()
        days = settings.CART_DAYS, settings.ORDERED_CART_DAYS
        # No index has the time of change. The key sorts carts by creation, which comes first.
        if any(days) or older_than:
            limit = moment - (older_than or timedelta(days=min(filter(None, days))))
            old = Q(modified_on__lt=limit) if older_than else expired(moment)
            old &= ~has_status(CHECKOUT, moment)  # while somebody pays
            made_before = Cart.objects.filter(pk__lt=first_key_at(limit))
            delete(Cart, [made_before], only=lambda rows: rows.filter(old))
        if all(days) or older_than:
            limit = moment - (older_than or timedelta(days=max(days)))
            deleted = DeletedCart.objects.filter(pk__lt=first_key_at(limit))
            delete(DeletedCart, [deleted], only=lambda rows: rows.filter(deleted_on__lt=limit))
            moved = MovedCart.objects.filter(cart_id__lt=first_key_at(limit))
            delete(MovedCart, [moved], only=lambda rows: rows.filter(moved_on__lt=limit))
            about_carts = LogEntry.objects.filter(staff_entry__isnull=False)
            delete(LogEntry, [about_carts.filter(action_time__lt=limit)], only=of_deleted_carts)
        unused = Q(created_on__lt=IdempotencyRecord.expired_before())
        records = IdempotencyRecord.objects.all()
        delete(IdempotencyRecord, [records], only=lambda rows: rows.filter(unused))


def of_deleted_carts(entries: QuerySet[LogEntry]) -> QuerySet[LogEntry]:
    keys = entries.values_list("staff_entry__cart_id", flat=True)
    kept = Cart.objects.filter(pk__in=list(keys)).values_list("pk", flat=True)
    return entries.exclude(staff_entry__cart_id__in=list(kept))
