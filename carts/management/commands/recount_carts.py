from django.core.management.base import BaseCommand
from django.db import connection, transaction
from django.db.models import QuerySet

from carts.management.batches import batches
from carts.models import Cart, CartItem
from carts.models.reads import items_of
from carts.models.writes import Totals
from carts.records import PlacedItem


class Command(BaseCommand):
    help = (
        "Compare the totals that are kept with each cart, and the value of each item, with what "
        "the items add up to. A difference is printed and corrected. Safe to interrupt, to repeat, "
        "and while customers are writing: a cart that is being changed is left to the next run."
    )

    def handle(self, **options: object) -> None:
        different = 0
        for rows in batches(Cart.objects.with_items(), 200):
            # One statement reads them, so that each cart is as it was at some moment.
            for cart in rows:
                if (true := _recount(cart)) and _correct(cart):
                    different += 1
                    self.stdout.write(f"{cart!r} holds {true[0]}")
        self.stdout.write(f"{different} carts differed.")


def _recount(cart: Cart) -> tuple[Totals, list[PlacedItem]] | None:
    """Return a cart's true totals and its items with their true values, or None if it is right."""
    items = [*items_of(cart.items_json).values()]  # type: ignore[attr-defined] # by `with_items`
    right = [placed._replace(value=placed.item.value) for placed in items]
    kept, true = (cart.item_count, cart.option_count, cart.subtotal), Totals.of_items(right)
    return None if (kept, items) == (true, right) else (true, right)


@transaction.atomic
def _correct(cart: Cart) -> bool:
    """Correct the cart, unless it is right by now or is being changed. Return whether it was."""
    # Lock first and read with a second statement. The first one could still see the items
    # as they were before a change that has just been committed.
    skip = connection.features.has_select_for_update_skip_locked
    rows = Cart.objects.filter(pk=cart.pk, profile_key=cart.profile_key)
    if not rows.select_for_update(skip_locked=skip).first():
        return False
    if not (true := _recount(rows.with_items().get())):
        return False
    totals, items = true
    # Past the guard of the models, which lets only the writes of the manager through.
    QuerySet.update(rows, **totals._asdict())
    for placed in items:
        found = CartItem.objects.filter(pk=placed.id, profile_key=cart.profile_key)
        QuerySet.update(found, value=placed.value)
    return True
