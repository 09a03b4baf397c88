"""Find carts by their keys, newest first, without ever reading the whole table.

A key is looked up in its index. Other columns have no index, because each index costs every
write. A search by them, or by what the carts hold, looks through a bounded number of carts and
reports how far it got.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import F, OuterRef, Q, Subquery, TextField, Value
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from django.db.models.functions import Concat
from django.db.models.lookups import IsNull

from carts.models import Cart, CartItem
from carts.models.reads import CartQuerySet, first_key_at
from carts.types import INT32
from carts.values import NewCart, types_of
from cartsvc.api import guids

PAGE_SIZE = 100

# The number of carts that a search looks through at a time.
WINDOW = 20_000

ITEMS = CartItem.objects.filter(cart=OuterRef("pk"), profile_key=OuterRef("profile_key"))

# The first items of a cart as text, read with its row: as many, whatever the cart holds.
LINES = ITEMS.values(
    line=Concat("quantity", Value(" × "), "display_name", output_field=TextField())
)
FIRST_ITEMS = {f"item_{n}": Subquery(LINES[n : n + 1]) for n in range(3)}

GUID = re.compile(f"(?<![0-9a-z]){guids.GUID.pattern}(?![0-9a-z])", re.IGNORECASE)

# Mail and chat turn hyphens into dashes and add characters of no width.
PASTED = dict.fromkeys(range(0x2010, 0x2016), "-") | dict.fromkeys(
    (0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)
)

# What is often copied along with a number or a partner's key.
AROUND = " \t\"'“”.,;#"

# Such as 1,234.50 or 23,50. A comma before exactly three digits groups them, as on the pages.
AMOUNT = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:[.,]([0-9]+))?")

NO_PLACE = {"invalid": "This address does not name a place in the list."}


class Moment(forms.DateTimeField):
    """A moment in the viewer's time zone. It must be within the calendar in UTC, too."""

    widget = forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")

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

    # The filters for which the page suggests the values of the carts that it shows.
    SUGGESTED = ("partner_key", "platform", "ordering_channel", "fulfilment_channel", "currency")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.SUGGESTED:
            self.fields[name].widget.attrs |= {"list": f"seen-{name}", "autocomplete": "off"}

    def clean_currency(self) -> str:
        return self.cleaned_data["currency"].upper()

    def filters(self) -> list[forms.BoundField]:
        """Return the fields of the filters, for the template."""
        return [field for field in self if field.name not in {"q", "before", "after"}]

    def is_filtered(self) -> bool:
        """Return whether any filter is filled in."""
        return any(field.data for field in self.filters())


@dataclass(frozen=True, slots=True)
class Page:
    """Carts, newest first, and the keys at which the newer and the older page begin."""

    carts: list[Cart]
    newer: UUID | None = None
    older: UUID | None = None
    # When the last cart was created that was looked at, if more carts may match beyond.
    reached: datetime | None = None


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
    searches = [
        _look(_range(column, value, values), _conditions(values) & holding, upward=upward)
        for column, value, holding in _keys(values)
    ]
    # Both searches may find the same cart.
    found = {cart.id: cart for carts, _ in searches for cart in carts}
    keys = sorted(found, reverse=not upward)
    beyond = reached = None
    if edges := [edge for _, edge in searches if edge]:
        # Cut all searches where the first one stopped, so that they go on together.
        beyond = min(edges) if upward else max(edges)
        keys = [key for key in keys if (key <= beyond if upward else key >= beyond)]
    carts = [found[key] for key in keys[:PAGE_SIZE]]
    if len(carts) < len(keys):
        beyond = carts[-1].id
    elif beyond:
        reached = Cart.objects.filter(pk=beyond).values_list("created_on", flat=True).first()
    behind = (carts[0].id if carts else start) if start else None
    if upward:
        return Page(carts[::-1], newer=beyond, older=behind, reached=reached)
    return Page(carts, newer=behind, older=beyond, reached=reached)


def _keys(values: dict[str, Any]) -> Iterator[tuple[str, Any, Q]]:
    """Yield each indexed column that the search term may name, the value, and a condition.

    The condition is on what the carts hold. The column is "" if only filters are given.
    """
    term = values["q"]
    if not term:
        column = "partner_key" if values["partner_key"] else ""
        yield column, values["partner_key"], Q()
    elif key := guid(term):
        yield "profile_key", key, Q()
    else:
        bare = " ".join(term.split()).strip(AROUND)
        (first, _, others), (rest, _, last) = bare.partition(" "), bare.rpartition(" ")
        for word, sought in ((first, others), (last, rest)):
            number = word.strip(AROUND)
            is_number = re.fullmatch("-?[0-9]{1,10}", number)
            if is_number and INT32.minimum <= int(number) <= INT32.maximum:
                yield "restaurant_key", int(number), _holding(sought.strip(AROUND))
                break
        # A partner's key may itself begin or end with such a character.
        for spelling in {term, term.upper(), bare, bare.upper()}:
            if len(spelling) <= types_of(NewCart)["partner_key"].max_length:
                yield "partner_key", spelling, Q()


def _holding(sought: str) -> Q:
    """Return the condition on carts of this subtotal, or with this in the name of an item."""
    if not sought:
        return Q()
    if match := AMOUNT.fullmatch(sought):
        whole, decimals = match.groups(default="0")
        return Q(subtotal=Decimal(f"{whole.replace(',', '')}.{decimals}"))
    # Not `Exists`: PostgreSQL may make a join of it, and read the items of all carts.
    items = ITEMS.filter(display_name__icontains=sought).order_by().values("pk")
    return Q(IsNull(Subquery(items[:1]), False))


def _range(column: str, value: Any, values: dict[str, Any]) -> CartQuerySet:
    """Return the carts with that value, oldest first, as one range of the column's index.

    The condition compares pairs of column and id. With a plain condition on the column, the
    database may walk along the primary key instead, past all carts with another value.
    """
    starts = [values["after"], values["created_from"] and first_key_at(values["created_from"])]
    # A cart that was last changed before a moment was also created before it.
    moments = values["created_to"], values["changed_to"]
    ends = [values["before"], *(moment and first_key_at(moment) for moment in moments)]
    start = max(filter(None, starts), default=UUID(int=0))
    end = min(filter(None, ends), default=UUID(int=2**128 - 1))
    if not column:
        return Cart.objects.filter(id__gt=start, id__lt=end).order_by("id")
    pair = Tuple(F(column), F("id"))
    between = TupleGreaterThan(pair, (value, start)), TupleLessThan(pair, (value, end))
    return Cart.objects.filter(*between).order_by(column, "id")


def _look(carts: CartQuerySet, conditions: Q, *, upward: bool) -> tuple[list[Cart], UUID | None]:
    """Return the first carts that match, and the last key looked at if carts are left.

    The key is None if all carts were looked at, or if there is no condition.
    """
    if not upward:
        carts = carts.reverse()
    edge = None
    if conditions:
        edge = carts.values_list("id", flat=True)[WINDOW : WINDOW + 1].first()
        if edge:
            carts = carts.filter(Q(id__lte=edge) if upward else Q(id__gte=edge))
        carts = carts.filter(conditions)
    return list(carts.annotate(**FIRST_ITEMS)[: PAGE_SIZE + 1]), edge


def _conditions(values: dict[str, Any]) -> Q:
    """Return the conditions on columns that the search does not use an index for."""
    conditions = {name: values[name] for name in FindForm.SUGGESTED}
    if not values["q"]:
        del conditions["partner_key"]
    conditions["modified_on__gte"] = values["changed_from"]
    conditions["modified_on__lt"] = values["changed_to"]
    return Q(**{name: value for name, value in conditions.items() if value})
