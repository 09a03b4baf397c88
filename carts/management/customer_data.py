"""What is held of a customer, and in which tables."""

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
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
        # Each keeps its cart as text.
        staff_log().filter(object_repr__endswith=str(key)).order_by("pk"),
        DeletedCart.objects.filter(profile_key=key),
        IdempotencyRecord.objects.filter(profile_key=key),
    ]


def staff_log() -> QuerySet[LogEntry]:
    """Return the log of what staff did to carts. An entry may outlive its cart."""
    return LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(Cart))
