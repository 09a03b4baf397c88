from argparse import ArgumentParser
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Model, Q, QuerySet, Value
from django.db.models.functions import Replace

from carts.management.batches import delete_batches
from carts.models import Cart, CartChange, DeletedCart, IdempotencyRecord, MovedCart


class Command(BaseCommand):
    help = (
        "Erase all that is held of a customer: carts with their items and histories, what is kept "
        "of deleted and moved ones, what staff's log says of them, and idempotency records. Safe "
        "to interrupt, to repeat, and while customers are writing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("profile_key", type=UUID, help="the customer's")
        parser.add_argument("--dry-run", action="store_true", help="only count what would go")

    def handle(self, *, profile_key: UUID, dry_run: bool, **options: object) -> None:
        held = rows_of_customer(profile_key)
        if not dry_run:
            forget_in_histories(profile_key)
        for rows in held:
            delete_batches(rows, self.stdout, dry_run=dry_run)
        if not dry_run and any(rows.exists() for rows in held):
            raise CommandError("Some of it is being changed. Run the command again.")


def rows_of_customer(profile_key: UUID) -> list[QuerySet[Model]]:
    """Return all that is held of a customer. What belongs to a cart goes with it.

    A cart that came from another customer, or went to one, has left traces with that one: what
    staff did to it, and the answers that keys keep. Those of a cart that the customer has go whole.
    """
    of_customer = Q(profile_key=profile_key)
    carts, deleted = Cart.objects.filter(of_customer), DeletedCart.objects.filter(of_customer)
    moved = MovedCart.objects.filter(of_customer)
    gone = moved.values_list("cart_id", flat=True)
    of_carts = Q(cart_id__in=carts.values("pk")) | Q(cart_id__in=deleted.values("pk"))
    others_moves = MovedCart.objects.exclude(of_customer).values_list("cart_id", "profile_key")
    # Carts that came, with the customers who had them before.
    came = [*others_moves.filter(of_carts)]
    answers = Q(of_customer)
    for cart_id, holder in came:
        answers |= Q(profile_key=holder, data__contains=str(cart_id))
    # The customers who have had a cart that went, and those who have it now.
    others_carts = Cart.objects.exclude(of_customer).values_list("pk", "profile_key")
    went = [*others_moves.filter(cart_id__in=gone), *others_carts.filter(pk__in=gone)]
    for _, holder in went:
        answers |= Q(profile_key=holder, data__contains=str(profile_key))
    came_ids = [cart_id for cart_id, _ in came]
    of_entries = Q(staff_entry__profile_key=profile_key) | Q(staff_entry__cart_id__in=came_ids)
    return [
        LogEntry.objects.filter(of_entries).order_by("pk"),
        IdempotencyRecord.objects.filter(answers),
        MovedCart.objects.filter(of_customer | Q(cart_id__in=came_ids)),
        deleted,
        carts.order_by("pk"),
    ]


def forget_in_histories(profile_key: UUID) -> None:
    """Take the customer's key out of the histories of carts that went to others."""
    went = MovedCart.objects.filter(profile_key=profile_key).values_list("cart_id", flat=True)
    moves = CartChange.objects.filter(cart_id__in=[*went], operation="Move Cart")
    texts = {
        name: Replace(name, Value(f'"{profile_key}"'), Value("null"))
        for name in ("before", "after")
    }
    QuerySet.update(moves, **texts)  # the history's own refuses
