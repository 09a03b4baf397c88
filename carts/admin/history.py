"""The history of a cart as the desk shows it: newest first, with what was and what is."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Self
from uuid import UUID

from carts.admin.activity import notes_of
from carts.admin.formatting import format_amount, format_moment, format_value, isolate, label_of
from carts.changeable_fields import CHANGEABLE_CART_FIELDS
from carts.models import Cart, CartChange, StaffEntry
from carts.models.cart_change import newest_decoded, undo
from carts.records import Item, Option, PlacedItem
from carts.value_types import stored_record

PlacedItems = Mapping[UUID, PlacedItem]

# The changes that a page shows at once.
CHANGES_PER_PAGE = 20

# The most lines about the items of a whole cart, such as it was created with.
MAX_LINES = 50


class Snapshot(NamedTuple):
    """A cart as it was at a version: its items in their places, its fields, what came `next`."""

    version: int
    placed: PlacedItems
    fields: Mapping[str, object]
    next: CartChange | None = None

    @property
    def items(self) -> dict[UUID, Item]:
        return {item_id: placed.item for item_id, placed in self.placed.items()}


class Event(NamedTuple):
    """A change, or the creation, in words what was and what is, and staff's notes to it."""

    change: CartChange
    lines: list[str]
    notes: Iterable[StaffEntry] = ()

    @classmethod
    def of(cls, change: CartChange, currency: str) -> Self:
        old, new, several = change.old, change.new, [*change.changed_items.values()]
        if several and not change.item_id:
            lines = (_lines_of_one(*one, currency) for one in several)
            return cls(change, _first_lines(lines, len(several)))
        if old.keys() != new.keys():
            return cls(change, lines_of_item(stored_record(Item, old or new), currency))
        return cls(change, difference_lines(old, new, currency) or ["nothing was changed"])

    @property
    def can_be_undone(self) -> bool:
        """Return whether there is something to put back: not of an item that was added."""
        return bool(self.change.old.keys() & {"items", *Item._fields, *CHANGEABLE_CART_FIELDS})


def timeline(cart: Cart, items: PlacedItems, before: int | None = None) -> dict[str, object]:
    """Return a page of the cart's history: the changes below the version `before`, if given.

    `earlier` is the version below which the next page begins. `missing` is the number of changes
    after the creation that are no longer kept.
    """
    end = min(before or cart.version + 1, cart.version + 1)
    changes = [*newest_decoded(cart.changes.filter(version__lt=end))[:CHANGES_PER_PAGE]]
    events = [Event.of(change, cart.currency) for change in changes]
    oldest = events[-1].change.version if events else end
    rest = {"earlier": oldest}
    if not cart.changes.filter(version__lt=oldest).exists():
        rest = {"missing": max(0, oldest - 2)}
        if oldest <= 2 and end <= cart.version:
            changes = [*newest_decoded(cart.changes.all())]
        events.append(_creation(cart, items, changes))
    # Notes to changes that are no longer kept came after the creation, which stands last.
    notes = list(notes_of(cart.pk))
    for n, event in enumerate(events):
        version = event.change.version
        of_event = [note for note in notes if version <= (note.version or 0) < end]
        events[n], end = event._replace(notes=of_event), version
    return {"events": events, **rest}


def _creation(cart: Cart, items: PlacedItems, changes: Collection[CartChange]) -> Event:
    """Return the creation, with the items of then if `changes` are all that came since."""
    author, lines = cart.created_by.columns, list[str]()
    creation = CartChange(version=1, at=cart.created_on, operation="Create Cart", **author)
    if len(changes) == cart.version - 1:
        created = [placed.item for placed in undo(items, {}, changes)[0].values()]
        lines = lines_of_items(created, cart.currency)
    elif cart.changes.count() == cart.version - 1:
        lines = ["what it was created with is not worked out: too much has changed since"]
    return Event(creation, lines)


def snapshots_since(cart: Cart, items: PlacedItems, version: int) -> dict[int, Snapshot]:
    """Return the cart now, with these `items`, and before each change since, by its versions.

    The `version` is among them if all changes since are kept, and no more than a page decodes.
    """
    fields: Mapping[str, object] = {name: getattr(cart, name) for name in CHANGEABLE_CART_FIELDS}
    last = Snapshot(cart.version, items, fields)
    snapshots = {cart.version: last}
    if version >= cart.version:
        return snapshots
    since = cart.changes.filter(version__gt=version, version__lte=cart.version)
    for change in newest_decoded(since):
        placed, fields, _ = undo(last.placed, last.fields, [change])
        last = snapshots[change.version - 1] = Snapshot(change.version - 1, placed, fields, change)
    return snapshots


def difference_text(old: Mapping[str, object], new: Mapping[str, object], currency: str) -> str:
    """Return in one line what differs between what was and what is; "" if nothing does."""
    return in_one_line(difference_lines(old, new, currency))


def in_one_line(lines: Iterable[str]) -> str:
    return "; ".join(line.strip() for line in lines)


def lines_of_items(items: Collection[Item], currency: str) -> list[str]:
    """Return what was ordered. After `MAX_LINES` lines, the rest is only counted."""
    return _first_lines((lines_of_item(item, currency) for item in items), len(items))


def _first_lines(lines_of_each: Iterable[list[str]], number: int) -> list[str]:
    lines: list[str] = []
    for position, more in enumerate(lines_of_each):
        if len(lines) >= MAX_LINES:
            return [*lines, f"… and {number - position:,} more"]
        lines += more
    return lines


def _lines_of_one(old: Mapping[str, Any], new: Mapping[str, Any], currency: str) -> list[str]:
    if old and new:
        change = difference_text(old, new, currency) or "at another place"
        return [f"{format_value(new['display_name'])}: {change}"]
    first, *others = lines_of_item(stored_record(Item, old or new), currency)
    return [f"{'added' if new else 'removed'} {first}", *others]


def lines_of_item(item: Item, currency: str) -> list[str]:
    price = format_amount(item.price, currency)
    lines = [f"{item.quantity} × {isolate(item.display_name)}, {price}"]
    lines += [f"    + {_format_option(option, currency)}" for option in item.options]
    if item.special_instructions:
        lines.append(f"    {format_value(item.special_instructions)}")
    return lines


def difference_lines(old: Mapping[str, Any], new: Mapping[str, Any], currency: str) -> list[str]:
    """Return a line for each value that differs, and for each option that came or went."""
    formats: dict[str, Callable[[Any], str]] = {
        "price": partial(format_amount, currency=currency),
        "closed_until": format_moment,
    }
    lines: list[str] = []
    for name, value in new.items():
        # The order of the items says the position, and the time of the change when it was closed.
        if value == old[name] or name in {"position", "closed_on"}:
            continue
        if name == "options":
            lines += _option_lines(old[name], value, currency)
        else:
            formatted = formats.get(name, format_value)
            lines.append(f"{label_of(name).lower()} {formatted(old[name])} → {formatted(value)}")
    return lines


def _option_lines(old: Collection[Option], new: Collection[Option], currency: str) -> list[str]:
    """Return the options taken away and added; if there are none, that their order differs."""
    # Of two that are equal, one may go.
    removed, added = Counter(old) - Counter(new), Counter(new) - Counter(old)
    lines = [f"− option {_format_option(option, currency)}" for option in removed.elements()]
    lines += [f"+ option {_format_option(option, currency)}" for option in added.elements()]
    return lines or ["options in another order"]


def _format_option(option: Option, currency: str) -> str:
    price = f", {format_amount(option.price, currency)}" if option.price else ""
    return f"{isolate(option.display_name)}{price}"
