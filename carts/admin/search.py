"""Find carts by their keys, newest first, without ever reading the whole table.

A key is looked up in its index. Other columns have no index, because each index costs every
write. A filter on them looks through a bounded number of carts and reports how far it got.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import F, Q
from django.db.models.fields.tuple_lookups import (
    Tuple,
    TupleGreaterThanOrEqual,
    TupleLessThanOrEqual,
)

from carts import limits
from carts.models import Cart, CartItem
from carts.models.reads import CartQuerySet
from cartsvc.db.keys import first_key_at

PAGE_SIZE = 100

# The number of carts that a filter looks through at a time.
WINDOW = 20_000

GUID = re.compile(
    r"(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])", re.IGNORECASE
)

# Mail and chat turn hyphens into dashes and add characters of no width.
PASTED = dict.fromkeys(range(0x2010, 0x2016), "-") | dict.fromkeys(
    (0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)
)

# What is often copied along with a number or a partner's key.
AROUND = " \t\"'“”.,;#"

NO_PLACE = {"invalid": "This address does not name a place in the list."}


class Moment(forms.DateTimeField):
    """A moment in the viewer's time zone. It must be within the calendar in UTC, too."""

    def to_python(self, value: Any) -> Any:
        moment = super().to_python(value)
        try:
            return moment and moment.astimezone(UTC)
        except OverflowError as error:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from error


class FindForm(forms.Form):
    """The search box, the filters, and the position in the list."""

    q = forms.CharField(required=False, label="Find a cart", max_length=200)
    partner_key = forms.CharField(required=False, strip=False)
    platform = forms.CharField(required=False, strip=False)
    ordering_channel = forms.CharField(required=False, strip=False)
    fulfilment_channel = forms.CharField(required=False, strip=False)
    currency = forms.CharField(required=False)
    created_from = Moment(required=False, label="Created from")
    created_to = Moment(required=False, label="Created before")
    changed_from = Moment(required=False, label="Changed from")
    changed_to = Moment(required=False, label="Changed before")
    # The page shows carts below the one key, or above the other.
    before = forms.UUIDField(required=False, error_messages=NO_PLACE)
    after = forms.UUIDField(required=False, error_messages=NO_PLACE)

    FILTERS = (
        "partner_key",
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
        """Return the fields of the filters, for the template."""
        return [self[name] for name in self.FILTERS]

    def is_filtered(self) -> bool:
        """Return whether any filter is filled in."""
        return any(self[name].data for name in self.FILTERS)


@dataclass(frozen=True, slots=True)
class Page:
    """Carts, newest first, and the keys at which the newer and the older page begin."""

    carts: list[Cart]
    newer: UUID | None = None
    older: UUID | None = None
    # Whether the filters stopped at `newer` or `older`, so that more carts may match beyond.
    partial: bool = False


def guid(term: str) -> UUID | None:
    """Return the last id in the term, such as an address, or None.

    A term that holds none may be an id in any other notation that Python reads.
    """
    term = term.translate(PASTED)
    try:
        return UUID((GUID.findall(term) or [term.strip()])[-1])
    except ValueError:
        return None


def cart_of(key: UUID) -> UUID | None:
    """Return the id of the cart that has this id or holds an item with this id."""
    carts = Cart.objects.filter(pk=key).values_list("pk")
    items = CartItem.objects.filter(pk=key).order_by().values_list("cart_id")
    return next((cart_id for (cart_id,) in carts.union(items)), None)


def find(values: dict[str, Any]) -> Page:
    """Return the page of carts that the cleaned values of a `FindForm` ask for."""
    upward = values["after"] is not None
    start = values["after"] or values["before"]
    found: list[Cart] = []
    edges: list[UUID] = []
    for column, value in _keys(values):
        rows, edge = _look(_range(column, value, values), values, upward=upward)
        found += rows
        edges += [edge] if edge else []
    beyond = None
    if edges:  # cut all searches where the first one stopped, so that they go on together
        beyond = min(edges) if upward else max(edges)
        found = [cart for cart in found if (cart.id <= beyond if upward else cart.id >= beyond)]
    found.sort(key=lambda cart: cart.id, reverse=not upward)
    carts = found[:PAGE_SIZE]
    whole = len(carts) < len(found)
    if whole:
        beyond = carts[-1].id
    behind = (carts[0].id if carts else start) if start else None
    if upward:
        return Page(carts[::-1], newer=beyond, older=behind, partial=bool(edges) and not whole)
    return Page(carts, newer=behind, older=beyond, partial=bool(edges) and not whole)


def _keys(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each indexed column that the search term may be a key of, with the value.

    Yield `("", None)` if only filters are given.
    """
    term = values["q"]
    if not term:
        yield ("partner_key", values["partner_key"]) if values["partner_key"] else ("", None)
    elif key := guid(term):
        yield "profile_key", key
    else:
        bare = term.strip(AROUND)
        if re.fullmatch("-?[0-9]{1,10}", bare):
            number = int(bare)
            if limits.INT32_MIN <= number <= limits.INT32_MAX:
                yield "restaurant_key", number
        # A partner's key may itself begin or end with such a character.
        for spelling in {term, term.upper(), bare, bare.upper()}:
            if len(spelling) <= limits.MAX_LENGTHS["partner_key"]:
                yield "partner_key", spelling


def _range(column: str, value: Any, values: dict[str, Any]) -> CartQuerySet:
    """Return the carts with that value, oldest first, as one range of the column's index.

    The condition compares pairs of column and id. With a plain condition on the column, the
    database may walk along the primary key instead, past all carts with another value.
    """
    firsts, lasts = [UUID(int=0)], [UUID(int=2**128 - 1)]
    if values["created_from"]:
        firsts.append(first_key_at(values["created_from"]))
    # A cart that was last changed before a moment was also created before it.
    latest = filter(None, (values["created_to"], values["changed_to"]))
    lasts += [UUID(int=max(0, first_key_at(moment).int - 1)) for moment in latest]
    if values["after"]:
        firsts.append(UUID(int=min(lasts[0].int, values["after"].int + 1)))
    if values["before"]:
        lasts.append(UUID(int=max(0, values["before"].int - 1)))
    first, last = max(firsts), min(lasts)
    if not column:
        return Cart.objects.filter(id__gte=first, id__lte=last).order_by("id")
    pair = Tuple(F(column), F("id"))
    return Cart.objects.filter(
        TupleGreaterThanOrEqual(pair, (value, first)), TupleLessThanOrEqual(pair, (value, last))
    ).order_by(column, "id")


def _look(
    carts: CartQuerySet, values: dict[str, Any], *, upward: bool
) -> tuple[list[Cart], UUID | None]:
    """Return the first carts that match, and the last key looked at if carts are left.

    The key is None if all carts were looked at, or if there is no filter.
    """
    if not upward:
        carts = carts.reverse()
    edge = None
    if conditions := _conditions(values):
        edge = carts.values_list("id", flat=True)[WINDOW : WINDOW + 1].first()
        if edge:
            carts = carts.filter(Q(id__lte=edge) if upward else Q(id__gte=edge))
        carts = carts.filter(conditions)
    found = list(carts[: PAGE_SIZE + 1])
    return found, edge


def _conditions(values: dict[str, Any]) -> Q:
    """Return the conditions on columns that the search does not use an index for."""
    conditions = {
        name: values[name]
        for name in ("platform", "ordering_channel", "fulfilment_channel", "currency")
    }
    if values["q"]:
        conditions["partner_key"] = values["partner_key"]
    conditions["modified_on__gte"] = values["changed_from"]
    conditions["modified_on__lt"] = values["changed_to"]
    return Q(**{name: value for name, value in conditions.items() if value})
