import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction
from tqdm import tqdm

from carts.management.stretches import batch_size, stretches
from carts.models import Cart
from carts.models.totals import Totals, counted

COLUMNS = ("item_count", "option_count", "subtotal")


class Command(BaseCommand):
    help = (
        "Count what each cart adds up to, and compare it with the totals that are kept with it. "
        "Totals that are missing are filled in; any other difference is told and mended. Safe to "
        "interrupt, to repeat, and while customers are writing: a cart that is being changed is "
        "left to the next run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="change nothing; fail if a cart differs"
        )
        parser.add_argument("--uncounted", action="store_true", help="only carts without totals")
        parser.add_argument(
            "--batch", type=batch_size, default=200, help="carts in one transaction (%(default)s)"
        )

    def handle(self, *args: Any, check: bool, uncounted: bool, batch: int, **options: Any) -> None:
        carts = Cart.objects.filter(item_count=None) if uncounted else Cart.objects.all()
        filled = different = 0
        with tqdm(desc="carts", unit="", file=sys.stderr, disable=None) as progress:
            for first, last in stretches(carts, batch):
                rows = carts.filter(pk__gte=first, pk__lte=last)
                for cart, kept, found in _differing(rows, mend=not check):
                    if kept is None:
                        filled += 1
                    else:
                        different += 1
                        self.stdout.write(f"{cart.pk} keeps {_told(kept)}, holds {_told(found)}")
                progress.update(batch)
        self.stdout.write(f"{filled} carts were uncounted, {different} differed.")
        if check and (filled or different):
            raise CommandError("Nothing was changed. Run again without --check to mend them.")


def _differing(rows: Any, *, mend: bool) -> Iterator[tuple[Cart, Totals | None, Totals]]:
    """Yield each cart whose stored totals are wrong, with the stored and the true totals.

    The stored totals are None in a cart that has never been counted. `mend` corrects them.
    """
    with transaction.atomic():
        # Lock first and read with a second statement. The first one could still see the items
        # as they were before a change that has just been committed.
        skip = connection.features.has_select_for_update_skip_locked
        keys = list(rows.select_for_update(skip_locked=skip).values_list("pk", flat=True))
        different = []
        for cart in Cart.objects.filter(pk__in=keys).with_amounts():
            found = counted(cart.item_rows)
            kept = cart.totals()
            if kept != found:
                yield cart, kept, found
                cart.set_totals(found)
                different.append(cart)
        if mend:
            Cart.objects.bulk_update(different, COLUMNS)


def _told(totals: Totals) -> str:
    return (
        f"{totals.item_count} items, {totals.option_count} options, {totals.subtotal.normalize():f}"
    )
