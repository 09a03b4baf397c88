"""The page that puts back, in several carts, what a bearer, staff or a request has changed."""

from operator import attrgetter
from typing import Any
from uuid import UUID

from django.core.exceptions import BadRequest
from django.http import QueryDict

from carts.admin.formatting import format_moment, isolate
from carts.admin.forms import WhyForm
from carts.admin.history import Event, State, differences, in_one_line, states_since
from carts.admin.many_carts import DELETED, ManyCartsView, Plan
from carts.admin.search import FindForm
from carts.admin.search_terms import changes_by
from carts.changeable_fields import CHANGEABLE_CART_FIELDS
from carts.models import Cart, CartChange
from carts.models.cart_change import (
    WHY_LENGTH,
    difference,
    encoded,
    item_differences,
    placed_from_record,
    recorded_item,
)
from carts.models.manager import CartManager
from carts.models.reads import items_of
from carts.records import PlacedItem
from carts.validation import Values

TOO_OLD = "What was before is not known any more, so it stays as it is."
DONE = "It is like that already."


class PutBackManyView(ManyCartsView):
    """The page for carts that the filter "Changed by" has found, of its time."""

    template = "put_back_many"

    def read_form(self) -> bool:
        filters = FindForm(QueryDict(self.list_query))
        if not filters.is_valid() or not filters.cleaned_data["changed_by"]:
            raise BadRequest("The list does not say by whom its carts were changed.")
        who, since, until = (
            filters.cleaned_data[name] for name in ("changed_by", "changed_from", "changed_to")
        )
        self.own = changes_by(who, since, until)
        when = f" since {format_moment(since)}" if since else ""
        when += f" until {format_moment(until)}" if until else ""
        self.title, self.what = (
            f"Put back what {isolate(who)} changed{when}?",
            f"{who} changed{when}",
        )
        self.form = WhyForm(self.request.POST)
        return self.form.is_valid()

    def log_and_why(self) -> tuple[str, str | None]:
        what, given = f"Put back what {self.what}", self.form.cleaned_data["why"]
        return what, (f"{what}: {given}" if given else what)[:WHY_LENGTH]

    def plan(self, cart: Any, version: int) -> Plan:
        cart = Cart.objects.with_items().filter(pk=cart.pk).first()
        if not cart:
            return Plan(DELETED)
        own = {*cart.changes.filter(self.own).values_list("version", flat=True)}
        before = min(own, default=1) - 1
        states = states_since(cart, items_of(cart.items_json), min(before, version))
        if before not in states or version not in states:
            return Plan(TOO_OLD)
        undoing = Undoing(states[version], cart.currency)
        for change in (state.next for state in reversed(states.values()) if state.next):
            if change.version in own and change.version <= version:
                undoing.undo(change)
            elif before < change.version <= version:
                undoing.pass_by(change)
        return undoing.planned()


class Undoing:
    """A cart without some of its changes: each field has what was before the first of these.

    What others have changed in between stays, unless it is of the same fields, or of an item that
    came or went. Then it is undone as well.
    """

    def __init__(self, state: State, currency: str) -> None:
        self.state, self.currency = state, currency
        self.fields: Values = {}
        # What the fields of an item were, by its id; None if the item was added.
        self.items: dict[UUID, Values | None] = {}
        self.removed: set[UUID] = set()
        self.notes: list[str] = []

    def undo(self, change: CartChange) -> None:
        """Take the next change that is undone. The oldest comes first."""
        for item_id, (was, now) in change.changed_items.items():
            known = self.items.setdefault(item_id, {} if was else None)
            if known is not None:
                self.items[item_id] = _differing(was, now) | known
            if not now:
                self.removed.add(item_id)
        if change.changed_items:
            return
        if change.was.keys() <= set(CHANGEABLE_CART_FIELDS):
            self.fields = change.was | self.fields
        else:
            self.notes.append(f"{change.operation} is not put back")

    def pass_by(self, change: CartChange) -> None:
        """Take the next change of others, and note whether it is undone as well."""
        was = {} if change.changed_items else change.was
        if self.fields.keys() & was.keys() or any(map(self._loses, change.changed_items.items())):
            what = in_one_line(Event.of(change, self.currency).lines)
            who = f"{isolate(change.author_name)}, {format_moment(change.at)}"
            self.notes.append(f"undone as well: {change.operation} by {who}: {what}")

    def _loses(self, changed: tuple[UUID, tuple[Values, Values]]) -> bool:
        item_id, (was, now) = changed
        known = self.items.get(item_id, {})
        return known is None or bool(known.keys() & _differing(was, now).keys())

    def planned(self) -> Plan:
        before, after = [*self.state.placed.values()], self._items()
        items = {placed.id: placed.item for placed in after}
        fields = difference(self.state.fields, self.fields)[1]
        lines, changes = list[str](), list[tuple[Any, object]]()
        if [*items.items()] != [(placed.id, placed.item) for placed in before]:
            was, now = map(encoded, item_differences(before, after))
            lines += Event.of(CartChange(before=was, after=now), self.currency).lines
            changes.append((CartManager.replace_items, items))
        if fields:
            lines += differences(self.state.fields, fields, self.currency)
            changes.append((CartManager.change_cart, fields))
        return Plan(in_one_line([*(lines or [DONE]), *self.notes]), changes)

    def _items(self) -> list[PlacedItem]:
        found = {key: recorded_item(placed) for key, placed in self.state.placed.items()}
        for key, was in self.items.items():
            if was is None:
                found.pop(key, None)
            elif key in found or key in self.removed:
                found[key] = found.get(key, {}) | was
        placed = (placed_from_record(key, fields) for key, fields in found.items())
        return sorted(placed, key=attrgetter("position"))


def _differing(was: Values, now: Values) -> Values:
    """Return what was, without the name that a change of several items keeps with each."""
    return {name: value for name, value in was.items() if name not in now or now[name] != value}
