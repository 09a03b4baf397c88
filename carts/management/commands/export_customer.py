import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from io import TextIOWrapper
from typing import Any, cast
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand
from django.db.models import F
from simplejson import JSONEncoder

from carts.cart_errors import CartNotFound
from carts.management.batches import BATCH, Querysets, batches
from carts.management.commands.erase_customer import ANSWERS, rows_of_customer
from carts.models import Cart, DeletedCart, IdempotencyRecord, MovedCart
from carts.models.cart_change import decoded
from cartsvc.json_values import json_value
from cartsvc.member_names import camel_case


class Command(BaseCommand):
    help = "Write all that is held of a customer, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("profile_key", type=UUID, help="the customer's")

    def handle(self, *, profile_key: UUID, **options: object) -> None:
        cast("TextIOWrapper", sys.stdout).reconfigure(encoding="utf-8")
        for piece in as_json(document(profile_key)):
            self.stdout.write(piece, ending="")
        self.stdout.write()


def document(profile_key: UUID) -> dict[str, object]:
    """Return what is held of a customer, read as it is written: carts may be large."""
    held = dict(rows_of_customer(profile_key))
    entries = {
        "at": F("action_time"),
        "by": F("user__username"),
        "cart_id": F("staff_entry__cart_id"),
        "message": F("change_message"),
    }
    answers = "key", "data", "version", "created_on"
    own_moves = (rows.filter(profile_key=profile_key) for rows in held[MovedCart])
    return {
        "profile_key": profile_key,
        "carts": carts_shown(held[Cart]),
        "log_entries": one_by_one(rows.values(**entries) for rows in held[LogEntry]),
        "deleted_carts": one_by_one(rows.values() for rows in held[DeletedCart]),
        "moved_carts": one_by_one(rows.values() for rows in own_moves),
        "idempotency_records": (
            {**one, "data": one["data"] and decoded(one["data"])}
            for one in one_by_one(
                (rows.values(*answers) for rows in held[IdempotencyRecord]), ANSWERS
            )
        ),
    }


def one_by_one(querysets: Querysets, at_once: int = BATCH) -> Iterator[Any]:
    """Yield the rows of each in order of their key, so many of which are held at once."""
    for batch in (batch for rows in querysets for batch in batches(rows, at_once)):
        yield from batch.order_by("pk")


def carts_shown(carts: Querysets) -> Iterator[object]:
    """Yield each cart as Get Cart shows it, with its author and the changes it has seen."""
    for cart in one_by_one(carts):
        with suppress(CartNotFound):  # it has just been deleted
            version, text = Cart.objects.version_and_json(cart.pk)
            changes = cart.changes.filter(version__lte=version).values()
            yield {
                **decoded(text),
                "created_by": asdict(cart.created_by),
                "changes": (
                    {**one, "before": decoded(one["before"]), "after": decoded(one["after"])}
                    for one in one_by_one([changes], 1)
                ),
            }


def as_json(value: object, margin: str = "\n") -> Iterator[str]:
    """Yield the pieces of a value as JSON, its members with the names of the API.

    simplejson would keep all of them until the last one is there.
    """
    inner, comma = f"{margin} ", ""
    match value:
        case dict():
            yield "{"
            for name, member in value.items():
                yield f"{comma}{inner}{encode(camel_case(name))}: "
                yield from as_json(member, inner)
                comma = ","
            yield f"{margin}}}"
        case list() | Iterator():
            yield "["
            for one in value:
                yield f"{comma}{inner}"
                yield from as_json(one, inner)
                comma = ","
            yield f"{margin}]"
        case _:
            yield encode(value)


encode = JSONEncoder(ensure_ascii=False, default=json_value).encode
