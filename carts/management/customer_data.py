"""What is held of a customer, and in which tables."""

from django.contrib.admin.models import LogEntry
from django.core.management.base import CommandError
from django.db.models import Model, QuerySet

from carts.models import Cart, DeletedCart, IdempotencyRecord
from cartsvc.guids import parse_guid


def rows_of_customer(profile_key: str) -> list[QuerySet[Model]]:
    """Return all that is held of a customer. What belongs to a cart goes with it."""
    key = parse_guid(profile_key)
    if key is None:
        raise CommandError(
            f"{profile_key!r} is not a profile key such as 0f8fad5b-d9cb-469f-a165-70867728950e."
        )
    return [
        Cart.objects.filter(profile_key=key).order_by("pk"),
        LogEntry.objects.filter(staff_entry__profile_key=key).order_by("pk"),
        DeletedCart.objects.filter(profile_key=key),
        IdempotencyRecord.objects.filter(profile_key=key),
    ]
