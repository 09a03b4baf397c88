"""What staff did, from the log that Django keeps of it: of one cart, or of all by agent and day."""

from datetime import date
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from carts.admin.formatting import cart_url, format_value
from carts.models import Cart, DeletedCart, StaffEntry
from carts.models.cart_change import NAME_LENGTH, Author

ENTRIES_PER_PAGE = 100

# The entries that are looked through at once. Only the key has an index in their order.
ENTRIES_AT_ONCE = 20_000


class ActivityForm(forms.Form):
    agent = forms.ModelChoiceField(
        User.objects.order_by("username"),
        required=False,
        to_field_name="username",
        empty_label="any",
    )
    day = forms.DateField(
        required=False,
        widget=forms.DateInput({"type": "date", "max": "9999-12-31"}, format="%Y-%m-%d"),
    )
    before = forms.IntegerField(required=False, widget=forms.HiddenInput)


def author_of(request: HttpRequest, why: str | None) -> Author:
    name = request.user.get_username()[:NAME_LENGTH]
    return Author("staff", name, request.META["cartsvc.request_id"], why)


def log_change(
    request: HttpRequest, cart: Cart, flag: int, message: str, why: str | None, version: int | None
) -> None:
    user = cast("User", request.user)
    text = f"{message}. Why: {format_value(why)}" if why else message
    entry = LogEntry.objects.log_actions(user.pk, [cart], flag, text, single_object=True)
    StaffEntry.objects.create(
        log_entry=entry,
        cart_id=cart.pk,
        profile_key=cart.profile_key,
        version=version,
        request_id=request.META["cartsvc.request_id"],
    )


def log_of(cart_id: UUID) -> QuerySet[LogEntry]:
    entries = LogEntry.objects.filter(staff_entry__cart_id=cart_id)
    return entries.select_related("user", "staff_entry").order_by("-pk")[:ENTRIES_PER_PAGE]


def is_deleted(cart_id: UUID) -> bool:
    """Return whether a cart that is no more had this id, as far as that is kept."""
    return DeletedCart.objects.filter(pk=cart_id).exists() or log_of(cart_id).exists()


def notes_of(cart_id: UUID) -> QuerySet[StaffEntry]:
    notes = StaffEntry.objects.filter(cart_id=cart_id, log_entry__action_flag=ADDITION)
    return notes.select_related("log_entry__user").order_by("-pk")[:ENTRIES_PER_PAGE]


def event_url(entry: LogEntry) -> str:
    """Return the address of the event, or "" if the entry is about something else than a cart."""
    about: StaffEntry | None = getattr(entry, "staff_entry", None)
    return cart_url(about.cart_id, version=about.version or 0) if about else ""


def newest_entries(
    agent: Any, day: date | None = None, before: int | None = None
) -> tuple[list[Any], int | None]:
    """Return a page of entries, newest first, and the key below which the next page begins."""
    entries = LogEntry.objects.order_by("-pk")
    if before is not None:
        entries = entries.filter(pk__lt=before)
    # The newest entry that is not looked at.
    rest = entries[ENTRIES_AT_ONCE : ENTRIES_AT_ONCE + 1].first()
    if rest:
        entries = entries.filter(pk__gt=rest.pk)
    filters = {"user": agent, "action_time__date": day}
    entries = entries.filter(**{name: value for name, value in filters.items() if value})
    entries = entries.select_related("user", "content_type", "staff_entry")
    found = list(entries[: ENTRIES_PER_PAGE + 1])
    if len(found) <= ENTRIES_PER_PAGE:
        return found, rest.pk + 1 if rest else None
    more = found.pop()
    # An action that goes on begins the next page.
    found = [entry for entry in found if request_of(entry) != request_of(more)] or found
    return found, found[-1].pk


def request_of(entry: Any) -> object:
    """Return what the entries have in common that one request has made."""
    about = getattr(entry, "staff_entry", None)
    return (about and about.request_id) or entry.pk
