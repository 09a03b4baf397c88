"""The history of a cart as the desk shows it: newest first, with what was and what is."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.contrib.admin.models import LogEntry

from carts.admin.activity import notes_of, version_of
from carts.admin.formatting import amount, in_words, label_of, moment_in_words
from carts.models import Cart, CartChange
from carts.models.cart_change import items_before
from carts.records import CART_CHANGES, Item, Option, PlacedItem, stored_record

Items = Mapping[UUID, PlacedItem]

# The changes that a page shows at once.
PAGE_SIZE = 20

# The most lines about the items of a whole cart, such as it was created with.
LINES = 50


class State(NamedTuple):
    """A cart as it was at a version: its items in their places, its fields, what came `next`."""

    version: int
    placed: Items
    fields: Mapping[str, Any]
    next: CartChange | None = None

    @property
    def items(self) -> dict[UUID, Item]:
        return {item_id: placed.item for item_id, placed in self.placed.items()}


class Event(NamedTuple):
    """A change, or the creation, in words what was and what is, and staff's notes to it."""

    change: CartChange
    lines: list[str]
    notes: Iterable[LogEntry] = ()

    @classmethod
    def of(cls, change: CartChange, currency: str) -> Self:
        was, now, several = change.was, change.now, [*change.items.values()]
        if several and not change.item_id:
            return cls(change, _cut(several, lambda one: _of_several(one[0], one[1], currency)))
        if was.keys() != now.keys():
            return cls(change, whole(stored_record(Item, was or now), currency))
        return cls(change, differences(was, now, currency) or ["nothing was changed"])

    @property
    def can_be_undone(self) -> bool:
        """Return whether there is something to put back: not of an item that was added."""
        return bool(self.change.was.keys() & {"items", *Item._fields, *CART_CHANGES})


def timeline(cart: Cart, items: Items, before: int | None = None) -> dict[str, Any]:
    """Return a page of the cart's history: the changes below the version `before`, if given.

    `items` are those that the cart holds now. `earlier` is the version below which the next page
    begins. `missing` is the number of changes after the creation that are no longer kept.
    """
    end = min(before or cart.version + 1, cart.version + 1)
    changes = list(cart.changes.filter(version__lt=end).reverse()[: PAGE_SIZE + 1])
    events = [Event.of(change, cart.currency) for change in changes[:PAGE_SIZE]]
    oldest = events[-1].change.version if events else end
    rest = {"earlier": oldest}
    if len(changes) <= PAGE_SIZE:
        rest = {"missing": max(0, oldest - 2)}
        if oldest <= 2 and end <= cart.version:
            changes = list(cart.changes.reverse())
        events.append(_creation(cart, items, changes))
    # Notes to changes that are no longer kept came after the creation, which stands last.
    notes = [(version_of(note), note) for note in notes_of(cart.pk)]
    for n, event in enumerate(events):
        version = event.change.version
        of_event = [note for seen, note in notes if version <= seen < end]
        events[n], end = event._replace(notes=of_event), version
    return {"events": events, **rest}


def _creation(cart: Cart, items: Items, changes: Collection[CartChange]) -> Event:
    """Return the creation, with the items of then if `changes` are all that came since."""
    is_known = len(changes) == cart.version - 1
    created = items_before(items, changes).values() if is_known else []
    author = cart.created_by.columns
    creation = CartChange(version=1, at=cart.created_on, operation="Create Cart", **author)
    return Event(creation, lines_of([placed.item for placed in created], cart.currency))


def states_since(cart: Cart, items: Items, version: int) -> dict[int, State]:
    """Return the cart now, with these `items`, and before each change since, by its versions.

    The `version` is among them if all changes since are kept.
    """
    state = State(cart.version, items, {name: getattr(cart, name) for name in CART_CHANGES})
    states, between = {cart.version: state}, {"version__gt": version, "version__lte": cart.version}
    changes = cart.changes.filter(**between).reverse() if version < cart.version else []
    for change in changes:
        was = {} if change.items else change.was
        fields = {name: was.get(name, value) for name, value in state.fields.items()}
        placed = items_before(state.placed, [change])
        state = states[change.version - 1] = State(change.version - 1, placed, fields, change)
    return states


def change_of(was: Mapping[str, Any], now: Mapping[str, Any], currency: str) -> str:
    """Return in one line what differs between what was and what is; "" if nothing does."""
    return in_one_line(differences(was, now, currency))


def in_one_line(lines: Iterable[str]) -> str:
    return "; ".join(line.strip() for line in lines)


def lines_of(items: Collection[Item], currency: str) -> list[str]:
    """Return the items in words. After `LINES` lines, the rest is only counted."""
    return _cut(items, lambda item: whole(item, currency))


def _cut(things: Collection[Any], words: Callable[[Any], list[str]]) -> list[str]:
    """Return the things in words. After `LINES` lines, the rest is only counted."""
    lines: list[str] = []
    for number, thing in enumerate(things):
        if len(lines) >= LINES:
            return [*lines, f"… and {len(things) - number:,} more"]
        lines += words(thing)
    return lines


def _of_several(was: Mapping[str, Any], now: Mapping[str, Any], currency: str) -> list[str]:
    """Return how one of several items came, went or differs."""
    if was and now:
        change = change_of(was, now, currency) or "at another place"
        return [f"{in_words(now['display_name'])}: {change}"]
    first, *others = whole(stored_record(Item, was or now), currency)
    return [f"{'added' if now else 'removed'} {first}", *others]


def whole(item: Item, currency: str) -> list[str]:
    """Return the lines of an item: what was ordered, its options and its instructions."""
    lines = [f"{item.quantity} × {item.display_name}, {amount(item.price, currency)}"]
    lines += [f"    + {_option(option, currency)}" for option in item.options]
    if item.special_instructions:
        lines.append(f"    {in_words(item.special_instructions)}")
    return lines


def differences(was: Mapping[str, Any], now: Mapping[str, Any], currency: str) -> list[str]:
    """Return a line for each value that differs, and for each option that came or went."""
    price = partial(amount, currency=currency)
    words: dict[str, Callable[[Any], str]] = {"price": price, "closed_until": moment_in_words}
    lines: list[str] = []
    for name, value in now.items():
        # The order of the items says the position, and the time of the change when it was closed.
        if value == was[name] or name in {"position", "closed_on"}:
            continue
        if name == "options":
            lines += _options(was[name], value, currency)
        else:
            told = words.get(name, in_words)
            lines.append(f"{label_of(name).lower()} {told(was[name])} → {told(value)}")
    return lines


def _options(was: Collection[Option], now: Collection[Option], currency: str) -> list[str]:
    """Return the options taken away and added; if there are none, that their order differs."""
    # Of two that are equal, one may go.
    gone, come = Counter(was) - Counter(now), Counter(now) - Counter(was)
    lines = [f"− option {_option(option, currency)}" for option in gone.elements()]
    lines += [f"+ option {_option(option, currency)}" for option in come.elements()]
    return lines or ["options in another order"]


def _option(option: Option, currency: str) -> str:
    price = f", {amount(option.price, currency)}" if option.price else ""
    return f"{option.display_name}{price}"
