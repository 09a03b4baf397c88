"""Find carts by their keys, newest first, without ever reading the whole table.

A key is looked up in its index. A filter on anything else has none, because every index
costs every write: it looks through a bounded number of carts and says how far it got.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q

from carts import validators
from carts.models import Cart, CartItem
from carts.models.cart import CartQuerySet

PAGE_SIZE = 100

# How many carts a filter looks through at a time.
WINDOW = 20_000


class FindForm(forms.Form):
    q = forms.CharField(required=False, label="Find a cart", max_length=200)
    partner = forms.CharField(required=False, strip=False)
    platform = forms.CharField(required=False, strip=False)
    ordering_channel = forms.CharField(required=False, strip=False)
    fulfilment_channel = forms.CharField(required=False, strip=False)
    currency = forms.CharField(required=False)
    created_from = forms.DateTimeField(required=False, label="Created from")
    created_to = forms.DateTimeField(required=False, label="Created before")
    changed_from = forms.DateTimeField(required=False, label="Changed from")
    changed_to = forms.DateTimeField(required=False, label="Changed before")
    # Where the page begins: below one key, or above the other.
    before = forms.UUIDField(required=False, widget=forms.HiddenInput)
    after = forms.UUIDField(required=False, widget=forms.HiddenInput)

    FILTERS = (
        "partner",
        "platform",
        "ordering_channel",
        "fulfilment_channel",
        "currency",
        "created_from",
        "created_to",
        "changed_from",
        "changed_to",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["q"].widget.attrs.update(
            {
                "type": "search",
                "placeholder": "cart, item, customer, restaurant or partner",
                "autofocus": True,
                "autocomplete": "off",
                "spellcheck": "false",
            }
        )
        for name, field in self.fields.items():
            if isinstance(field, forms.DateTimeField):
                field.widget = forms.DateTimeInput(
                    {"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"
                )
            elif name in self.FILTERS:
                field.widget.attrs |= {"list": f"seen-{name}", "autocomplete": "off"}

    def clean_currency(self) -> str:
        return self.cleaned_data["currency"].upper()

    def filters(self) -> list[forms.BoundField]:
        return [self[name] for name in self.FILTERS]

    def is_filtered(self) -> bool:
        return any(self[name].data for name in self.FILTERS)


@dataclass(frozen=True, slots=True)
class Page:
    """Carts, newest first, and the keys where the pages beside this one begin."""

    carts: list[Cart]
    newer: UUID | None = None
    older: UUID | None = None
    # The filters looked no further than `newer` or `older`; there may be more beyond.
    partial: bool = False


def guid(term: str) -> UUID | None:
    try:
        return UUID(term.strip())
    except ValueError:
        return None


def cart_of(key: UUID) -> UUID | None:
    """Return the id of the cart whose key this is, or whose item's."""
    carts = Cart.objects.filter(pk=key).values_list("pk")
    items = CartItem.objects.filter(pk=key).order_by().values_list("cart_id")
    return next((cart_id for (cart_id,) in carts.union(items)), None)


def find(values: dict[str, Any]) -> Page:
    """Return the page of carts that the cleaned values of a `FindForm` ask for."""
    upward = values["after"] is not None
    start = values["after"] or values["before"]
    found: list[Cart] = []
    edges: list[UUID] = []
    for carts in _starts(values):
        rows, edge = _look(carts, values, start, upward=upward)
        found += rows
        edges += [edge] if edge else []
    beyond = None
    if edges:  # the alternatives go on together where the first of them stopped
        beyond = min(edges) if upward else max(edges)
        found = [cart for cart in found if (cart.id <= beyond if upward else cart.id >= beyond)]
    found.sort(key=lambda cart: cart.id, reverse=not upward)
    shown = found[:PAGE_SIZE]
    whole = len(shown) < len(found)
    if whole:
        beyond = shown[-1].id
    behind = (shown[0].id if shown else start) if start else None
    if upward:
        return Page(shown[::-1], newer=beyond, older=behind, partial=bool(edges) and not whole)
    return Page(shown, newer=behind, older=beyond, partial=bool(edges) and not whole)


def _look(
    carts: CartQuerySet, values: dict[str, Any], start: UUID | None, *, upward: bool
) -> tuple[list[Cart], UUID | None]:
    """Return the carts beyond `start`, and the last key that was looked at, if any is left."""
    if values["created_from"]:
        carts = carts.filter(id__gte=_key_at(values["created_from"]))
    for latest in (values["created_to"], values["changed_to"]):
        if latest:  # what was changed before was created before, too
            carts = carts.filter(id__lt=_key_at(latest))
    if start:
        carts = carts.filter(Q(id__gt=start) if upward else Q(id__lt=start))
    carts = carts.order_by("id" if upward else "-id")
    edge = None
    if conditions := _conditions(values):
        edge = carts.values_list("id", flat=True)[WINDOW : WINDOW + 1].first()
        if edge:
            carts = carts.filter(Q(id__lte=edge) if upward else Q(id__gte=edge))
        carts = carts.filter(conditions)
    return list(carts.with_amounts()[: PAGE_SIZE + 1]), edge


def _starts(values: dict[str, Any]) -> Iterator[CartQuerySet]:
    """Yield the carts of each key that the search term may be, each by its own index."""
    term = values["q"]
    if not term:
        partner = values["partner"]
        yield Cart.objects.filter(partner_key=partner) if partner else Cart.objects.all()
    elif key := guid(term):
        yield Cart.objects.filter(profile_key=key)
    else:
        if term.lstrip("-").isdecimal() and len(term) <= 11:
            number = int(term)
            if validators.INT32_MIN <= number <= validators.INT32_MAX:
                yield Cart.objects.filter(restaurant_key=number)
        if len(term) <= validators.MAX_LENGTHS["partner_key"]:
            for spelling in {term, term.upper()}:
                yield Cart.objects.filter(partner_key=spelling)


def _conditions(values: dict[str, Any]) -> Q:
    """Return what no index answers."""
    conditions = {
        name: values[name]
        for name in ("platform", "ordering_channel", "fulfilment_channel", "currency")
    }
    if values["q"]:
        conditions["partner_key"] = values["partner"]
    conditions["modified_on__gte"] = values["changed_from"]
    conditions["modified_on__lt"] = values["changed_to"]
    return Q(**{name: value for name, value in conditions.items() if value})


def _key_at(moment: datetime) -> UUID:
    """Return the first key (UUIDv7) of that moment: keys begin with their milliseconds."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)
