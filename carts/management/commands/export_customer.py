import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
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
from cartsvc.moments import as_text


class Command(BaseCommand):
    help = "Write all that is held of a customer, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("profile_key", type=UUID, help="the customer's")

    def handle(self, *, profile_key: UUID, **options: object) -> None:
        cast("TextIOWrapper", sys.stdout).reconfigure(encoding="utf-8")
        encode = JSONEncoder(ensure_ascii=False, indent=1, default=as_text).encode
        self.stdout.write(encode(in_camel_case(document(profile_key))))


def document(profile_key: UUID) -> dict[str, object]:
    entries, records, moved, deleted, carts = rows_of_customer(profile_key)
    answers = records.order_by("pk").values("key", "data", "version", "created_on")
    return {
        "profile_key": profile_key,
        "carts": [*carts_shown(carts)],
        "log_entries": [
            *entries.values(
                at=F("action_time"),
                by=F("user__username"),
                cart_id=F("staff_entry__cart_id"),
                message=F("change_message"),
            )
        ],
        "deleted_carts": [*deleted.order_by("pk").values()],
        "moved_carts": [*moved.filter(profile_key=profile_key).order_by("pk").values()],
        "idempotency_records": [
            {**one, "data": one["data"] and decoded(one["data"])} for one in answers
        ],
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


def in_camel_case(value: Any) -> Any:
    """Return a value whose members have the names of the API."""
    match value:
        case dict():
            return {camel_case(name): in_camel_case(one) for name, one in value.items()}
        case list():
            return [in_camel_case(one) for one in value]
    return value
