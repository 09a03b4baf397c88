import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from io import TextIOWrapper
from typing import Any, cast
from uuid import UUID

from django.core.management.base import BaseCommand
from django.db.models import F, QuerySet
from simplejson import JSONEncoder

from carts.cart_errors import CartNotFound
from carts.management.commands.erase_customer import rows_of_customer
from carts.models import Cart
from carts.models.cart_change import decoded
from cartsvc.member_names import camel_case
from cartsvc.moments import utc_text


class Command(BaseCommand):
    help = "Write all that is held of a customer, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("profile_key", type=UUID, help="the customer's")

    def handle(self, *, profile_key: UUID, **options: object) -> None:
        cast("TextIOWrapper", sys.stdout).reconfigure(encoding="utf-8")
        for piece in ENCODER.iterencode(with_api_names(document(profile_key))):
            self.stdout.write(piece, ending="")
        self.stdout.write()


def document(profile_key: UUID) -> dict[str, object]:
    """Return what is held of a customer, read as it is written: carts may be large."""
    entries, records, moved, deleted, carts = rows_of_customer(profile_key)
    answers = records.values("key", "data", "version", "created_on")
    return {
        "profile_key": profile_key,
        "carts": carts_shown(carts),
        "log_entries": entries.values(
            at=F("action_time"),
            by=F("user__username"),
            cart_id=F("staff_entry__cart_id"),
            message=F("change_message"),
        ),
        "deleted_carts": deleted.values(),
        "moved_carts": moved.filter(profile_key=profile_key).values(),
        "idempotency_records": (
            {**one, "data": one["data"] and decoded(one["data"])} for one in answers
        ),
    }


def carts_shown(carts: QuerySet[Any]) -> Iterator[object]:
    """Yield each cart as Get Cart shows it, with its author and the changes it has seen."""
    for cart in carts:
        with suppress(CartNotFound):  # it has just been deleted
            version, text = Cart.objects.version_and_json(cart.pk)
            changes = cart.changes.filter(version__lte=version).values()
            yield {
                **decoded(text),
                "created_by": asdict(cart.created_by),
                "changes": [
                    {**one, "before": decoded(one["before"]), "after": decoded(one["after"])}
                    for one in changes
                ],
            }


def with_api_names(value: object) -> object:
    match value:
        case dict():
            return {camel_case(name): with_api_names(member) for name, member in value.items()}
        case list() | QuerySet() | Iterator():
            return map(with_api_names, value)
    return value


def as_text(value: object) -> str:
    return utc_text(value) if isinstance(value, datetime) else str(value)


ENCODER = JSONEncoder(indent=1, ensure_ascii=False, iterable_as_array=True, default=as_text)
