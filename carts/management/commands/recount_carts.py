from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction
from django.db.models import QuerySet

from carts.management.delete_batches import batches
from carts.models import Cart, CartItem
from carts.models.reads import items_of
from carts.models.totals import Totals
from carts.records import PlacedItem

CARTS_AT_ONCE = 200


class Command(BaseCommand):
    help = (
        "Compare the totals that are kept with each cart, and the value of each item, with what "
        "the items add up to. A difference is printed and corrected. Safe to interrupt, to repeat, "
        "and while customers are writing: a cart that is being changed is left to the next run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="change nothing; fail if a cart differs"
        )

    def handle(self, *, check: bool, **options: object) -> None:
        different = 0
        for rows in batches(Cart.objects.with_items(), CARTS_AT_ONCE):
            # One statement reads them, so that each cart is as it was at some moment.
            for cart in rows:
                difference, _, _ = _recount(cart)
                if difference and not check:
                    difference = _correct(cart)
                if difference:
                    different += 1
                    self.stdout.write(difference)
        self.stdout.write(f"{different} carts differed.")
        if check and different:
            raise CommandError("Nothing was changed. Run again without --check to correct them.")


def _recount(cart: Cart) -> tuple[str, Totals, list[PlacedItem]]:
    """Return how a cart differs from its items, its true totals, and its items with a wrong value.

    The text is empty if it does not. The items have the right value.
    """
    items = items_of(cart.items_json).values()  # type: ignore[attr-defined] # by `with_items`
    right = [placed._replace(value=placed.item.value) for placed in items]
    wrong = [new for old, new in zip(items, right, strict=True) if old.value != new.value]
    kept, true = Totals(cart.item_count, cart.option_count, cart.subtotal), Totals.of_items(right)
    if kept == true and not wrong:
        return "", true, wrong
    kept_words, true_words = (
        f"{item_count} items, {option_count} options, {subtotal.normalize():f}"
        for item_count, option_count, subtotal in (kept, true)
    )
    count = f"{len(wrong)} items had a wrong value"
    return f"{cart.pk} keeps {kept_words}, holds {true_words}; {count}", true, wrong


def _correct(cart: Cart) -> str:
    """Correct the cart, unless it is right by now or is being changed. Return the difference."""
    with transaction.atomic():
        # Lock first and read with a second statement. The first one could still see the items
        # as they were before a change that has just been committed.
        skip = connection.features.has_select_for_update_skip_locked
        key = {"profile_key": cart.profile_key}
        rows = Cart.objects.filter(pk=cart.pk, **key)
        if not rows.select_for_update(skip_locked=skip).first():
            return ""
        difference, totals, wrong = _recount(rows.with_items().get())
        if difference:
            # Past the guard of the models, which lets only the writes of the manager through.
            QuerySet(Cart).filter(pk=cart.pk, **key).update(**totals._asdict())
            for placed in wrong:
                QuerySet(CartItem).filter(pk=placed.id, **key).update(value=placed.value)
        return difference
