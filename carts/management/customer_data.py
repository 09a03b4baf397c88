"""What is held of a customer, and in which tables."""

from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.db.models import Model, QuerySet

from carts.models import Cart, DeletedCart, IdempotencyRecord


def rows_of_customer(profile_key: UUID) -> list[QuerySet[Model]]:
    """Return all that is held of a customer. What belongs to a cart goes with it."""
    return [
        Cart.objects.filter(profile_key=profile_key).order_by("pk"),
        LogEntry.objects.filter(staff_entry__profile_key=profile_key).order_by("pk"),
        DeletedCart.objects.filter(profile_key=profile_key),
        IdempotencyRecord.objects.filter(profile_key=profile_key),
    ]
