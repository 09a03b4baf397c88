from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from itertools import chain
from typing import Any
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Replace

from carts.management.batches import Kinds, among, any_left, batches, counted, delete_batches
from carts.models import Cart, CartChange, DeletedCart, IdempotencyRecord, MovedCart
from cartsvc.guids import EPOCH, GUID

# Kept answers that are held at once: some hold a cart.
ANSWERS = 20


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
        if dry_run:
            self.stdout.write(f"{counted(rows_of_customer(profile_key))} would be deleted.")
            return
        for model, querysets in rows_of_customer(profile_key):
            if model is MovedCart:
                forget_in_histories(profile_key)
            if delete_batches(model, querysets, self.stdout):
                break  # without what comes next, another run would not find these
        if any_left(rows_of_customer(profile_key)):
            raise CommandError("Some of it is being changed. Run the command again.")


def rows_of_customer(profile_key: UUID) -> Kinds:
    """Yield all that is held of a customer, in the order in which it may be deleted.

    A cart that came from another customer, or went to one, has left traces with that one: what
    staff did to it, and the answers that keys keep. Those of a cart that the customer has go whole.
    Which carts these are is read first: what comes or goes later is left to another run.
    """
    own, own_entries = Q(profile_key=profile_key), Q(staff_entry__profile_key=profile_key)
    others_carts, others_moves = Cart.objects.filter(~own), MovedCart.objects.filter(~own)
    gone = dict(MovedCart.objects.filter(own).values_list("cart_id", "moved_on"))
    carts, deleted = Cart.objects.filter(own), DeletedCart.objects.filter(own)
    ids = [key for rows in (carts, deleted) for key in rows.values_list("pk", flat=True)]
    # What names the customer, or a cart of theirs, in the answers of each other customer.
    names = defaultdict[UUID, set[str]](set)
    for came in among(others_moves, "cart_id", ids):
        for holder, cart_id in came.values_list("profile_key", "cart_id"):
            names[holder].add(str(cart_id))
    # The customers who have had a cart that went, and those who have it now.
    for went in (*among(others_moves, "cart_id", [*gone]), *among(others_carts, "pk", [*gone])):
        for holder in went.values_list("profile_key", flat=True):
            names[holder].add(str(profile_key))
    others_entries = among(LogEntry.objects.filter(~own_entries), "staff_entry__cart_id", ids)
    yield LogEntry, [LogEntry.objects.filter(own_entries), *others_entries]
    yield IdempotencyRecord, chain([IdempotencyRecord.objects.filter(own)], answers_with(names))
    yield DeletedCart, among(deleted, "pk", ids)
    yield Cart, among(carts, "pk", ids)
    # The history of a cart that has just gone on may name those who had it before.
    on = {cart.pk for rows in among(others_carts, "pk", ids) for cart in rows}
    left = [key for key in ids if key not in on]
    moves = MovedCart.objects.filter(own, moved_on__lte=max(gone.values(), default=EPOCH))
    yield MovedCart, [*among(moves, "cart_id", [*gone]), *among(others_moves, "cart_id", left)]


def answers_with(names: Mapping[UUID, Set[str]]) -> Iterator[QuerySet[Any]]:
    """Yield the records of these customers whose answers have a GUID of theirs."""
    records = IdempotencyRecord.objects.all()
    for rows in among(records.exclude(data=None), "profile_key", [*names], ANSWERS):
        answers = (
            one for batch in batches(rows, ANSWERS) for one in batch.values_list("pk", "data")
        )
        keys = [key for key, data in answers if names[key[0]] & {*GUID.findall(data)}]
        yield from among(records, "pk", keys, ANSWERS)


def forget_in_histories(profile_key: UUID) -> None:
    """Take the customer's key out of the histories of carts that went to others."""
    went = MovedCart.objects.filter(profile_key=profile_key).values_list("cart_id", flat=True)
    texts = {
        name: Replace(name, Value(f'"{profile_key}"'), Value("null"))
        for name in ("before", "after")
    }
    for moves in among(CartChange.objects.filter(operation="Move Cart"), "cart_id", [*went]):
        QuerySet.update(moves, **texts)  # the history's own refuses
