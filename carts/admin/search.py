"""Find carts by their keys, newest first, without ever reading the whole table.

A key is looked up in its index. Other columns have no index, because each index costs every
write. A search by them, or by what the carts hold, looks through more and more carts at a time,
goes on for about a second, and reports how far it got.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db import OperationalError
from django.db.models import OuterRef, Q, Subquery, TextField, Value
from django.db.models.functions import Concat
from django.urls import reverse
from django.utils import timezone

from carts.admin import search_terms
from carts.admin.activity import is_deleted
from carts.admin.formatting import cart_url
from carts.admin.search_terms import ITEMS_OF_CART, Meaning
from carts.models import Cart, CartChange, CartItem
from carts.models.cart_change import NAME_LENGTH, Author
from carts.models.cart_status import STATUSES, has_status
from cartsvc.guids import first_key_at

# The carts of a page, and the most that are counted and that a file holds.
CARTS_PER_PAGE, MAX_FOUND = 100, 1_000

# The carts that a search looks through at first, then twice as many, and for how long it goes on.
CARTS_AT_ONCE, SEARCH_SECONDS = 1_000, 0.9

# The filters whose columns have their values, in upper or lower case.
EQUAL = ("platform", "ordering_channel", "fulfilment_channel")


class MomentField(forms.DateTimeField):
    # Without an end, browsers take six digits of a year.
    widget = forms.DateTimeInput(
        {"type": "datetime-local", "max": "9999-12-31T23:59"}, format="%Y-%m-%dT%H:%M"
    )

    def clean(self, value: object) -> datetime | None:
        """Return the moment in UTC, in which the calendar may end before the viewer's does."""
        moment = super().clean(value)
        try:
            return moment and moment.astimezone(UTC)
        except OverflowError:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None


class FindForm(forms.Form):
    q = forms.CharField(required=False, label="Find a cart", max_length=500)
    platform = forms.CharField(required=False, strip=False)
    ordering_channel = forms.CharField(required=False, strip=False)
    fulfilment_channel = forms.CharField(required=False, strip=False)
    status = forms.ChoiceField(
        required=False, choices=[("", "any"), *((status, status) for status in STATUSES)]
    )
    created_from = MomentField(label="Created from", required=False)
    created_to = MomentField(label="Created before", required=False)
    changed_by = forms.CharField(required=False, max_length=NAME_LENGTH)
    changed_from = MomentField(label="Changed from", required=False)
    changed_to = MomentField(label="Changed before", required=False)
    # The page shows carts below this key.
    before = forms.UUIDField(required=False)

    def filters(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in {"q", "before"}]

    def is_filtered(self) -> bool:
        return any(field.data for field in self.filters())


@dataclass(slots=True)
class SearchResult:
    """Carts, newest first, and the key at which the older page begins.

    `total` carts were found from here on, and perhaps `more`. `meaning` is what the term was taken
    for. `opens` is the address of the one thing that it names, or may name if it `is_guess`.
    `reached` is when the last cart that was looked at was created, if more may match.
    """

    carts: list[Cart] = field(default_factory=list)
    older: UUID | None = None
    reached: datetime | None = None
    total: int = 0
    more: bool = False
    meaning: Meaning = field(default_factory=Meaning)
    opens: str = ""
    is_guess: bool = False


def find_carts(values: dict[str, Any], *, size: int) -> SearchResult:
    digits = search_terms.id_digits(values["q"])
    if len(digits) == 32 and (opens := _url_of_id(UUID(digits))):
        return SearchResult(opens=opens)
    result, deadline = SearchResult(), monotonic() + SEARCH_SECONDS
    for meaning in search_terms.meanings(values["q"]):
        result = walk(meaning, values, size=size, deadline=deadline)
        if result.carts or result.reached or meaning.deleted or meaning.moved:
            break
    is_alone = len(result.carts) == 1 and (meaning.is_guess or not result.older)
    if is_alone and not (values["before"] or meaning.deleted or meaning.moved):
        event = _event_url(result.carts[0], meaning)
        result.opens = event or (cart_url(result.carts[0].pk) if meaning.opens else "")
        result.is_guess = meaning.is_guess and not event
    return result


def _url_of_id(key: UUID) -> str:
    """Return the address of the cart or the item that has this id, or had it, or ""."""
    carts = Cart.objects.filter(pk=key).values_list("pk")
    items = CartItem.objects.filter(pk=key).order_by().values_list("cart_id")
    if found := next((cart_id for (cart_id,) in carts.union(items)), None):
        return cart_url(found, key if key != found else None)
    return reverse("admin:carts_cart_history", args=[key]) if is_deleted(key) else ""


def _event_url(cart: Cart, meaning: Meaning) -> str:
    """Return the address of the cart's event that the term names by its request, or ""."""
    if not meaning.request_id:
        return ""
    changes = cart.changes.filter(request_id=meaning.request_id)
    is_creation = cart.created_request_id == meaning.request_id
    made = 1 if is_creation else changes.values_list("version", flat=True).first()
    return cart_url(cart.pk, version=made) if made else ""


def walk(
    meaning: Meaning, values: dict[str, Any], *, size: int = 0, deadline: float = 0
) -> SearchResult:
    """Return a page of the carts of that meaning, by the values of a FindForm, newest first."""
    size, deadline = size or CARTS_PER_PAGE, deadline or monotonic() + SEARCH_SECONDS
    before, keys, at_once = values["before"], list[UUID](), CARTS_AT_ONCE
    lowest: UUID | None = None  # of the carts looked through, if there are more below
    while at_once > CARTS_AT_ONCE // 10:
        began = monotonic()
        try:
            found, lowest = _matching_keys(meaning, values | {"before": before}, at_once)
        except OperationalError:
            # Under load it takes too long: end with what was looked at, or look at fewer.
            at_once //= 2
            if lowest:
                break
            if at_once <= CARTS_AT_ONCE // 10:
                raise
            continue
        keys += found
        before = lowest or before
        left, took = deadline - monotonic(), monotonic() - began
        if not lowest or len(keys) > size or left <= 0 or (keys and meaning.is_guess):
            break
        at_once = int(min(2 * at_once, at_once * left / took))
    result = SearchResult(total=min(len(keys), MAX_FOUND), meaning=meaning)
    result.more = bool(lowest) or len(keys) > MAX_FOUND
    if len(keys) > size:
        result.older = keys[size - 1]
    elif lowest:
        result.older = lowest
        result.reached = Cart.objects.filter(pk=lowest).values_list("created_on", flat=True).first()
    result.carts = listed(keys[:size], with_last=bool(values["changed_by"]))
    return result


def listed(keys: list[UUID], *, with_last: bool = False) -> list[Cart]:
    """Return the carts, newest first, with their first `lines`, and by whom they changed `last`."""
    # As texts, which are read with the cart's row: as many, whatever the cart holds.
    line = Concat("quantity", Value(" "), "display_name", output_field=TextField())
    lines = {f"line_{n}": Subquery(ITEMS_OF_CART.values(line=line)[n : n + 1]) for n in range(3)}
    found: Any = Cart.objects.filter(pk__in=keys).order_by("-pk").annotate(**lines)
    if with_last:
        of_cart = {name: OuterRef(name) for name in ("profile_key", "version")}
        last = CartChange.objects.filter(cart=OuterRef("pk"), **of_cart).order_by()
        columns = ("author_kind", "author_name", "why")
        found = found.annotate(**{f"last_{name}": Subquery(last.values(name)) for name in columns})
    carts = list(found)
    for cart in carts:
        if with_last:
            cart.last = Author(cart.last_author_kind, cart.last_author_name, why=cart.last_why)
        found = (getattr(cart, name) for name in lines)
        cart.lines = [line.partition(" ")[::2] for line in found if line]
    return carts


def _matching_keys(
    meaning: Meaning, values: dict[str, Any], at_once: int
) -> tuple[list[UUID], UUID | None]:
    """Return the first carts that match, and the lowest key looked at if there are more below."""
    start, end = search_terms.LOWEST, values["before"] or search_terms.HIGHEST
    if values["created_from"]:
        start = first_key_at(values["created_from"])
    if meaning.day:
        midnight = timezone.make_aware(datetime.combine(meaning.day, time.min))
        start = max(start, first_key_at(midnight))
        end = min(end, first_key_at(midnight + timedelta(days=1)))
    if values["created_to"]:
        end = min(end, first_key_at(values["created_to"]))
    if meaning.column_name:
        carts = search_terms.carts_with(meaning.column_name, meaning.value, start, end).reverse()
    else:
        carts = Cart.objects.filter(id__gt=start, id__lt=end).order_by("-id")
    filters = {f"{name}__iexact": values[name] for name in EQUAL if values[name]}
    since, until = values["changed_from"], values["changed_to"]
    changed = Q()
    if who := values["changed_by"]:
        changed = search_terms.with_changes(search_terms.changes_by(who, since, until))
    else:
        filters |= {"modified_on__gte": since} if since else {}
        filters |= {"modified_on__lt": until} if until else {}
    condition, lowest = meaning.condition & changed & Q(**filters), None
    if values["status"]:
        condition &= has_status(values["status"], timezone.now())
    if meaning.cart_ids:
        carts = carts.filter(pk__in=meaning.cart_ids)
    elif condition:
        lowest = carts.values_list("id", flat=True)[at_once : at_once + 1].first()
        if lowest:
            carts = carts.filter(id__gte=lowest)
    return list(carts.filter(condition).values_list("id", flat=True)[: MAX_FOUND + 1]), lowest
