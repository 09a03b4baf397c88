"""What staff did, from the log that Django keeps of it: of one cart, or of all by agent and day."""

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.contrib.auth.models import User
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from carts.admin.formatting import cart_url, format_value
from carts.models import Cart
from carts.models.cart_change import MAX_CHANGES, Author

PAGE_SIZE = 100

# The entries that are looked through at once. No column but the key has an index in their order.
WINDOW = 20_000

# How an entry tells the version of the cart that it is about. It ends with the customer's key.
VERSION = re.compile("version ([0-9]+) of ")


class ActivityForm(forms.Form):
    """Whose entries, of which day, and the key below which the page begins."""

    agent = forms.ModelChoiceField(
        User.objects.order_by("username"),
        required=False,
        to_field_name="username",
        empty_label="any",
    )
    day = forms.DateField(
        required=False,
        widget=forms.DateInput({"type": "date", "max": "9000-12-31"}, format="%Y-%m-%d"),
        validators=[MinValueValidator(date(2000, 1, 1)), MaxValueValidator(date(9000, 12, 31))],
    )
    before = forms.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput
    )


def author_of(request: HttpRequest, why: str | None) -> Author:
    name = request.user.get_username()
    return Author("staff", name, request.META["cartsvc.request_id"], why)


def log(
    request: HttpRequest, cart: Cart, flag: int, message: str, why: str | None, version: int | None
) -> None:
    """Log what a member of staff did to a cart, and the version that it made."""
    LogEntry.objects.create(
        user_id=cast("Any", request.user).pk,
        content_type=get_content_type_for_model(Cart),
        object_id=str(cart.pk),
        object_repr=f"version {version} of {cart}" if version else str(cart),
        action_flag=flag,
        change_message=f"{message}. Why: {format_value(why)}" if why else message,
    )


def log_of(cart_id: UUID) -> QuerySet[LogEntry]:
    carts = get_content_type_for_model(Cart)
    return LogEntry.objects.filter(content_type=carts, object_id=str(cart_id))


def version_of(entry: LogEntry) -> int:
    """Return the version of the cart that the entry is about, or 0 if it does not say."""
    version = VERSION.match(entry.object_repr)
    return int(version[1]) if version else 0


def notes_of(cart_id: UUID) -> QuerySet[LogEntry]:
    """Return the newest notes that staff added to a cart's history, newest first."""
    notes = log_of(cart_id).filter(action_flag=ADDITION).select_related("user")
    return notes.order_by("-pk")[:PAGE_SIZE]


def event_of(entry: LogEntry, versions: Mapping[str | None, int]) -> str:
    """Return the address of the event, or of staff's part of the history if it is not kept."""
    if entry.content_type != get_content_type_for_model(Cart):
        return ""
    version = version_of(entry)
    if 1 < version <= versions.get(entry.object_id, 0) - MAX_CHANGES:
        return f"{cart_url(entry.object_id)}?staff#history-heading"
    return cart_url(entry.object_id, version=version)


def page_of(agent: User | None, day: date | None, before: int | None) -> dict[str, Any]:
    """Return a page of the log, newest first, and the key below which the next one begins."""
    keys = LogEntry.objects.order_by("pk").values_list("pk", flat=True)
    low, high = keys.first() or 0, before or (keys.last() or 0) + 1
    if day:
        start = timezone.make_aware(datetime.combine(day, time.min))
        low, high = _first_at(start), min(high, _first_at(start + timedelta(days=1)))
    end = max(low, high - WINDOW)
    entries = LogEntry.objects.filter(pk__gte=end, pk__lt=high).order_by("-pk")
    if agent:
        entries = entries.filter(user=agent)
    found = list(entries.select_related("user", "content_type")[: PAGE_SIZE + 1])
    older = end if end > low else None
    if len(found) > PAGE_SIZE:
        older = found[PAGE_SIZE - 1].pk
    of_carts = get_content_type_for_model(Cart)
    cart_ids = {entry.object_id for entry in found if entry.content_type == of_carts}
    carts = Cart.objects.filter(pk__in=cart_ids).values_list("pk", "version")
    versions = {str(pk): version for pk, version in carts}
    return {"entries": found[:PAGE_SIZE], "older": older, "versions": versions}


def _first_at(moment: datetime) -> int:
    """Return a key that is above those of all entries before the moment, by halving their range."""
    rows = LogEntry.objects.order_by("pk").values_list("pk", "action_time")
    low, high = 0, (rows.values_list("pk", flat=True).last() or 0) + 1
    while low < high:
        middle = (low + high) // 2
        pk, at = rows.filter(pk__gte=middle).first() or (middle, moment)
        low, high = (low, middle) if at >= moment else (pk + 1, high)
    return low
