import os
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import F
from django.utils import timezone
from simplejson import JSONEncoder

from carts.management.customers import held_of
from carts.models.change import CartChange, decoded
from carts.models.closing import status_columns, with_status
from carts.models.reads import cart_json, items_json
from cartsvc.camel_case import camel_case

CHANGE_FIELDS = [
    field.attname for field in CartChange._meta.concrete_fields if field.name != "profile_key"
]

encode = JSONEncoder(ensure_ascii=False, default=str).encode


class Command(BaseCommand):
    help = "Write all that is held of a customer, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("profile_key", help="the customer's")
        parser.add_argument("--output", metavar="FILE", help="a new file of mode 0600, not stdout")

    def handle(self, *args: Any, profile_key: str, output: str | None, **options: Any) -> None:
        held = held_of(profile_key)
        if not any(rows.exists() for rows in held.values()):
            self.stderr.write(f"Nothing is held of the customer {profile_key}.")
        if output:
            try:
                new = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except OSError as error:
                raise CommandError(f"{output} cannot be made: {error.strerror}.") from error
            with os.fdopen(new, "w", encoding="utf-8") as file:
                file.writelines(document(profile_key, held))
            return
        for piece in document(profile_key, held):
            self.stdout.write(piece, ending="")


def document(profile_key: str, held: dict[str, Any]) -> Iterator[str]:
    """Yield what is held of a customer as one JSON object, in pieces.

    A single statement reads all carts with their items, as they are at one moment.
    """
    carts, entries, records = held.values()
    shown = cart_json(items=items_json(F("profile_key")))
    yield f'{{"profileKey": "{profile_key.lower()}"'
    for name, rows in {
        # A few at once, because each may be large.
        "carts": map(of_cart, carts.annotate(json=shown).iterator(chunk_size=10)),
        "log_entries": entries.values(
            at=F("action_time"),
            by=F("user__username"),
            cart_id=F("object_id"),
            message=F("change_message"),
        ).iterator(),
        "idempotency_records": map(
            of_record, records.values("key", "data", "version", "created_on").iterator()
        ),
    }.items():
        yield f',\n"{camel_case(name)}": ['
        for position, row in enumerate(rows):
            yield ",\n" if position else "\n"
            yield encode(answered(row))
        yield "]"
    yield "}\n"


def of_cart(cart: Any) -> dict[str, Any]:
    """Return the cart as Get Cart shows it, with its author and the changes that made it so."""
    return {
        **decoded(with_status(cart.json, columns_of(cart), timezone.now())),
        "created_by": {
            "kind": cart.created_by_kind,
            "name": cart.created_by_name,
            "request_id": cart.created_request_id,
        },
        "changes": [
            {**change, "before": decoded(change["before"]), "after": decoded(change["after"])}
            for change in cart.changes.filter(
                profile_key=cart.profile_key, version__lte=cart.version
            ).values(*CHANGE_FIELDS)
        ],
    }


def columns_of(cart: Any) -> list[Any]:
    return [getattr(cart, name) for name in status_columns()]


def of_record(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "data": record["data"] and decoded(record["data"])}


def answered(value: Any) -> Any:
    """Return the value with the names, the numbers and the times of the API's answers."""
    match value:
        case dict():
            return {camel_case(name): answered(member) for name, member in value.items()}
        case list():
            return [answered(member) for member in value]
        case Decimal():
            whole = value.to_integral_value()
            return whole if value == whole else value.normalize()
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value
