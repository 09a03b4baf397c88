import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from io import TextIOWrapper
from itertools import chain
from typing import Any, cast

from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand
from django.db.models import F, Model, QuerySet
from django.utils import timezone
from simplejson import JSONEncoder

from carts.management.customer_data import rows_of_customer
from carts.management.delete_batches import BATCH, batches
from carts.models import Cart, CartChange, DeletedCart, IdempotencyRecord
from carts.models.cart_change import decoded
from carts.models.closing import status_columns, with_status
from carts.models.reads import cart_json, items_json
from cartsvc.member_names import camel_case

CHANGE_FIELDS = [
    field.attname for field in CartChange._meta.concrete_fields if field.name != "profile_key"
]

encode = JSONEncoder(ensure_ascii=False, default=str).encode

Row = dict[str, object]


class Command(BaseCommand):
    help = "Write all that is held of a customer, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("profile_key", help="the customer's")

    def handle(self, *, profile_key: str, **options: object) -> None:
        held = rows_of_customer(profile_key)
        if not any(rows.exists() for rows in held):
            self.stderr.write(f"Nothing is held of the customer {profile_key}.")
        cast("TextIOWrapper", sys.stdout).reconfigure(encoding="utf-8")
        for piece in document(profile_key, held):
            self.stdout.write(piece, ending="")


def document(profile_key: str, held: Iterable[QuerySet[Model]]) -> Iterator[str]:
    """Yield what is held of a customer as one JSON object, in pieces.

    It is read in batches, so that no statement waits for who reads the document.
    """
    yield f'{{"profileKey": "{profile_key.lower()}"'
    for rows in held:
        rows_shown, size = SHOWN[rows.model]
        name = str(rows.model._meta.verbose_name_plural).replace(" ", "_")
        yield f',\n"{camel_case(name)}": ['
        for position, row in enumerate(chain.from_iterable(map(rows_shown, batches(rows, size)))):
            yield ",\n" if position else "\n"
            yield encode(api_value(row))
        yield "]"
    yield "}\n"


def carts_shown(rows: QuerySet[Any]) -> list[Row]:
    """Return the carts as Get Cart shows them, each with its author and the changes it has seen.

    One that is deleted meanwhile may have lost its history before it was read: it is left out.
    """
    carts = rows.annotate(json=cart_json(items=items_json(F("profile_key"))))
    read = {cart.pk: cart_shown(cart) for cart in carts}
    return [read[key] for key in rows.values_list("pk", flat=True) if key in read]


def cart_shown(cart: Any) -> Row:
    columns = [getattr(cart, name) for name in status_columns()]
    seen = cart.changes.filter(profile_key=cart.profile_key, version__lte=cart.version)
    return {
        **decoded(with_status(cart.json, columns, timezone.now())),
        "created_by": {
            "kind": cart.created_by_kind,
            "name": cart.created_by_name,
            "request_id": cart.created_request_id,
        },
        "changes": [
            {**change, "before": decoded(change["before"]), "after": decoded(change["after"])}
            for change in seen.values(*CHANGE_FIELDS)
        ],
    }


def log_entries_shown(rows: QuerySet[Model]) -> Iterable[Row]:
    return rows.values(
        at=F("action_time"),
        by=F("user__username"),
        cart_id=F("staff_entry__cart_id"),
        message=F("change_message"),
    )


def deleted_carts_shown(rows: QuerySet[Model]) -> Iterable[Row]:
    return rows.values("id", "deleted_on", "author_kind", "author_name", "request_id")


def idempotency_records_shown(rows: QuerySet[Model]) -> Iterator[Row]:
    for record in rows.values("key", "data", "version", "created_on"):
        yield {**record, "data": record["data"] and decoded(record["data"])}


# How the rows of each kind are shown, and how many at once: carts may be large.
SHOWN: dict[type[Model], tuple[Callable[[QuerySet[Model]], Iterable[Row]], int]] = {
    Cart: (carts_shown, 10),
    LogEntry: (log_entries_shown, BATCH),
    DeletedCart: (deleted_carts_shown, BATCH),
    IdempotencyRecord: (idempotency_records_shown, BATCH),
}


def api_value(value: object) -> object:
    """Return the value with the names, the numbers and the times of the API's answers."""
    match value:
        case dict():
            return {camel_case(name): api_value(member) for name, member in value.items()}
        case list():
            return [api_value(member) for member in value]
        case Decimal():
            whole = value.to_integral_value()
            return whole if value == whole else value.normalize()
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value
