"""Find carts by their keys, newest first, without ever reading the whole table.

A key is looked up in its index. Other columns have no index, because each index costs every
write. A search by them, or by what the carts hold, looks through more and more carts at a time,
goes on for about a second, and reports how far it got.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from operator import and_
from time import monotonic
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db import OperationalError
from django.db.models import Case, OuterRef, Q, Subquery, TextField, Value, When
from django.db.models.functions import Concat
from django.urls import reverse
from django.utils import timezone

from carts.admin.activity import is_deleted
from carts.admin.formatting import cart_url, format_moment, isolate
from carts.admin.forms import CHANNELS, form_field
from carts.admin.search_terms import (
    ITEMS_OF_CART,
    Meaning,
    Term,
    carts_of,
    changes_by,
    id_in,
    read_terms,
    with_changes,
)
from carts.models import Cart, CartChange, CartItem, DeletedCart, MovedCart
from carts.models.cart_change import NAME_LENGTH, Author
from carts.models.cart_status import STATUSES, has_status
from carts.models.reads import HIGHEST, LOWEST, carts_with
from carts.records import NewCart
from cartsvc.guids import first_key_at
from cartsvc.spelling import readable, spelled_alone

# The carts of a page, and the most that are counted and that a file holds.
CARTS_PER_PAGE, MAX_FOUND = 100, 1_000

# The carts that a search looks through at first, then twice as many, and for how long it goes on.
CARTS_AT_ONCE, SEARCH_SECONDS = 1_000, 0.8


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
    """What is searched for, and filters, each of which means the whole value."""

    q = forms.CharField(required=False, label="Find a cart", max_length=500)
    status = forms.ChoiceField(required=False, choices=[("", "any"), *((s, s) for s in STATUSES)])
    restaurant_key = form_field(NewCart, "restaurant_key", may_be_empty=True)
    profile_key = forms.UUIDField(required=False, label="Customer")
    fulfilment_channel = form_field(NewCart, "fulfilment_channel", may_be_empty=True)
    ordering_channel = form_field(NewCart, "ordering_channel", may_be_empty=True)
    platform = form_field(NewCart, "platform", may_be_empty=True)
    created_from = MomentField(required=False)
    created_to = MomentField(required=False, label="Created before")
    changed_by = forms.CharField(required=False, max_length=NAME_LENGTH)
    changed_from = MomentField(required=False)
    changed_to = MomentField(required=False, label="Changed before")
    # The page shows carts below this key.
    before = forms.UUIDField(required=False)

    def clean(self) -> None:
        if unknown := sorted(self.data.keys() - self.fields.keys() - {"xlsx"}):
            raise ValidationError(f"This page has no filter “{unknown[0]}”.")

    def filters(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in {"q", "before"}]

    def filter_chips(self) -> Iterator[tuple[str, str]]:
        """Yield each filter that is set, and the query without it."""
        for one in self.filters():
            if self.is_bound and (value := one.value()) not in (None, ""):
                shown = self.cleaned_data.get(one.name, value)
                text = format_moment(shown) if isinstance(shown, datetime) else isolate(shown)
                others = self.data.keys() - {one.name, "before"}
                query = urlencode({name: self.data[name] for name in self.data if name in others})
                yield f"{one.label}: {text}", query


@dataclass(slots=True)
class SearchResult:
    """Carts, newest first, and the key at which the older page begins.

    `total` carts were found from here on, and perhaps `more`. `reached` is when the last cart that
    was looked at was created, if more may match. `terms` are what was searched for, of these
    `kinds`; the `deleted` and `moved` carts may be meant as well. `opens` is the address of the one
    thing that they name.
    """

    carts: list[Cart] = field(default_factory=list)
    older: UUID | None = None
    reached: datetime | None = None
    total: int = 0
    more: bool = False
    terms: Sequence[Term] = ()
    kinds: Set[str] = frozenset()
    deleted: Sequence[DeletedCart] = ()
    moved: Sequence[MovedCart] = ()
    opens: str = ""

    def word_chips(self) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
        """Yield what each word is taken for, the search without it, and the ways to turn it."""
        typed = [term.typed for term in self.terms]
        for n, term in enumerate(self.terms):
            before, after = typed[:n], typed[n + 1 :]
            turned = [(label, " ".join([*before, one, *after])) for label, one in term.others]
            yield term.taken.label, " ".join(before + after), turned


def find_carts(values: dict[str, Any], *, size: int) -> SearchResult:
    """Return a page of the carts that the values of a FindForm mean."""
    text = " ".join(readable(values["q"]).split())
    if (key := id_in(text)) and (opens := _url_of_id(key)):
        return SearchResult(opens=opens)
    terms = [*read_terms(text)]
    meanings = [*_filters(values), *(term.taken for term in terms)]
    with_last = bool(values["changed_by"])
    result = walk(*meanings, before=values["before"], size=size, with_last=with_last)
    result.terms, result.kinds = terms, {term.taken.kind for term in terms}
    result.deleted = [gone for one in meanings for gone in one.deleted]
    result.moved = [gone for one in meanings for gone in one.moved]
    is_page = result.older or values["before"] or result.deleted or result.moved
    if len(result.carts) == 1 and not is_page:
        (cart,) = result.carts
        event = _event_url(cart, text) if result.kinds & {"text", "unknown"} else ""
        is_key = result.kinds & {"id", "almost", "reference"}
        result.opens = event or (cart_url(cart.pk) if is_key else "")
    return result


def _filters(values: dict[str, Any]) -> Iterator[Meaning]:
    if key := values["profile_key"]:
        yield carts_of(key) or Meaning(key=("profile_key", key))
    if (number := values["restaurant_key"]) is not None:
        yield Meaning(key=("restaurant_key", number))
    named = {name: spelled_alone(values[name]) for name in CHANNELS if values[name]}
    condition = Q(**{f"{name}__regex": alone for name, alone in named.items()})
    if values["status"]:
        condition &= has_status(values["status"], timezone.now())
    who, since, until = (values[name] for name in ("changed_by", "changed_from", "changed_to"))
    if who or since or until:
        condition &= with_changes(changes_by(who, since, until))
    # A cart that was changed then was created before, and is not older than its last change.
    if since:
        condition &= Q(modified_on__gte=since)
    above = [first_key_at(one) for one in (values["created_from"],) if one]
    below = [first_key_at(one) for one in (values["created_to"], until) if one]
    yield Meaning(condition=condition, bounds=(max([LOWEST, *above]), min([HIGHEST, *below])))


def _url_of_id(key: UUID) -> str:
    """Return the address of the cart or the item that has this id, or had it, or ""."""
    carts = Cart.objects.filter(pk=key).values_list("pk")
    items = CartItem.objects.filter(pk=key).order_by().values_list("cart_id")
    if found := next((cart_id for (cart_id,) in carts.union(items)), None):
        return cart_url(found, key if key != found else None)
    return reverse("admin:carts_cart_history", args=[key]) if is_deleted(key) else ""


def _event_url(cart: Cart, request_id: str) -> str:
    """Return the address of the cart's event that the request made, or ""."""
    changes = cart.changes.filter(request_id=request_id).values_list("version", flat=True)
    made = 1 if cart.created_request_id == request_id else changes.first()
    return cart_url(cart.pk, version=made) if made else ""


def walk(
    *meanings: Meaning, before: UUID | None = None, size: int = 0, with_last: bool = False
) -> SearchResult:
    """Return a page of the carts of which all of this is so, newest first, below a key.

    It looks for about a second. If asked for, each cart has its last change.
    """
    size, deadline = size or CARTS_PER_PAGE, monotonic() + SEARCH_SECONDS
    keys, at_once = list[UUID](), CARTS_AT_ONCE
    lowest: UUID | None = None  # of the carts looked through, if there are more below
    while at_once > CARTS_AT_ONCE // 10:
        began = monotonic()
        try:
            found, lowest = _matching_keys(meanings, before or HIGHEST, at_once)
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
        if not lowest or len(keys) > size or left <= 0:
            break
        at_once = int(min(2 * at_once, at_once * left / took))
    result = SearchResult(total=min(len(keys), MAX_FOUND))
    result.more = bool(lowest) or len(keys) > MAX_FOUND
    if len(keys) > size:
        result.older = keys[size - 1]
    elif lowest:
        result.older = lowest
        result.reached = Cart.objects.filter(pk=lowest).values_list("created_on", flat=True).first()
    now = reduce(and_, (one.condition for one in meanings), Q())
    is_old = any(one.once for one in meanings)
    result.carts = listed(keys[:size], now=now if is_old else Q(), with_last=with_last)
    return result


def _matching_keys(
    meanings: Sequence[Meaning], before: UUID, at_once: int
) -> tuple[list[UUID], UUID | None]:
    """Return the first carts that match, and the lowest key looked at if there are more below."""
    above = max(one.bounds[0] for one in meanings)
    below = min(before, *(one.bounds[1] for one in meanings))
    columns = [one.key for one in meanings if one.key]
    carts = Cart.objects.filter(id__gt=above, id__lt=below).order_by("-id")
    if columns:
        carts = carts_with(*columns[0], above, below).reverse()
    condition, lowest = Q(**dict(columns[1:])), None
    for one in meanings:
        condition &= one.condition | one.once if one.once else one.condition
    known = [one.ids for one in meanings if one.ids is not None]
    if known:
        carts = carts.filter(pk__in=frozenset.intersection(*known))
    elif condition:
        lowest = carts.values_list("id", flat=True)[at_once : at_once + 1].first()
        if lowest:
            carts = carts.filter(id__gte=lowest)
    return list(carts.filter(condition).values_list("id", flat=True)[: MAX_FOUND + 1]), lowest


def listed(keys: list[UUID], *, now: Q | None = None, with_last: bool = False) -> list[Cart]:
    """Return the carts, newest first, with their first `lines`, and by whom they changed `last`.

    They are `old` if they no longer meet the condition.
    """
    # As texts, which are read with the cart's row: as many, whatever the cart holds.
    line = Concat("quantity", Value(" "), "display_name", output_field=TextField())
    more: Any = {
        f"line_{n}": Subquery(ITEMS_OF_CART.values(line=line)[n : n + 1]) for n in range(3)
    }
    if now:
        more["is_now"] = Case(When(now, then=Value(True)), default=Value(False))
    if with_last:
        of_cart = {name: OuterRef(name) for name in ("profile_key", "version")}
        last = CartChange.objects.filter(cart=OuterRef("pk"), **of_cart).order_by()
        columns = ("author_kind", "author_name", "why")
        more |= {f"last_{name}": Subquery(last.values(name)) for name in columns}
    carts = list(Cart.objects.filter(pk__in=keys).order_by("-pk").annotate(**more))
    for cart in carts:
        if with_last:
            cart.last = Author(cart.last_author_kind, cart.last_author_name, why=cart.last_why)
        cart.is_old = not getattr(cart, "is_now", True)
        lines = (getattr(cart, f"line_{n}") for n in range(3))
        cart.lines = [line.partition(" ")[::2] for line in lines if line]
    return carts
