"""The history of a cart as the desk shows it: newest first, with what was and what is."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.admin.models import LogEntry

from carts.admin.activity import notes_of
from carts.admin.formatting import amount, in_words, label_of, moment_in_words
from carts.models import Cart, CartChange
from carts.models.change import MAX_CHANGES, difference, items_before
from carts.values import CART_CHANGES, Item, Option, PlacedItem, completed

Items = Mapping[UUID, PlacedItem]

# The changes that a page shows at once.
PAGE_SIZE = 20

# The most lines about the items of a whole cart, such as it was created with.
LINES = 50


class Event(NamedTuple):
    """A change, or the creation, in words what was and what is, and staff's notes to it."""

    change: CartChange
    lines: list[str]
    notes: Iterable[LogEntry] = ()

    @property
    def can_be_undone(self) -> bool:
        """Return whether there is something to put back: not of an item that was added."""
        change = self.change
        if change.item_id or not change.items:
            return bool(change.was.keys() & {*Item._fields, *CART_CHANGES})
        return True


def timeline(cart: Cart, items: Items, before: int | None = None) -> dict[str, Any]:
    """Return a page of the cart's history: the changes below the version `before`, if given.

    `items` are those that the cart holds now. `earlier` is the version below which the next page
    begins. `missing` is the number of changes after the creation that are no longer kept.
    """
    end = min(before or cart.version + 1, cart.version + 1)
    changes = list(cart.changes.filter(version__lt=end).reverse()[: PAGE_SIZE + 1])
    events = [_event(change, cart.currency) for change in changes[:PAGE_SIZE]]
    oldest = events[-1].change.version if events else end
    rest = {"earlier": oldest}
    if len(changes) <= PAGE_SIZE:
        rest = {"missing": max(0, oldest - 2)}
        if oldest <= 2 and end <= cart.version:
            changes = list(cart.changes.reverse())
        events.append(_creation(cart, items, changes))
    notes = notes_of(cart.pk)
    events = [event._replace(notes=notes.get(event.change.version, ())) for event in events]
    if "missing" in rest:
        # Those to changes that are no longer kept came after the creation, which stands last.
        older = [note for version in notes if version < oldest for note in notes[version]]
        events[-1] = events[-1]._replace(notes=older)
    return {"events": events, **rest}


def _creation(cart: Cart, items: Items, changes: Collection[CartChange]) -> Event:
    """Return the creation, with the items of then if `changes` are all that came since."""
    is_known = len(changes) == cart.version - 1
    created = items_before(items, changes).values() if is_known else []
    author = cart.created_by.columns
    creation = CartChange(version=1, at=cart.created_on, operation="Create Cart", **author)
    return Event(creation, lines_of([placed.item for placed in created], cart.currency))


def events_since(cart: Cart, version: int) -> list[Event]:
    """Return the changes that are kept since the version, newest first."""
    changes = cart.changes.filter(version__gt=version).reverse()[:MAX_CHANGES]
    return [_event(change, cart.currency) for change in changes]


def cart_before(fields: Mapping[str, Any], changes: Iterable[CartChange]) -> dict[str, Any]:
    """Return the cart's fields as they were before these changes, which come newest first."""
    was = dict(fields)
    for change in changes:
        if not change.items:
            was |= {name: value for name, value in change.was.items() if name in fields}
    return was


def change_of(was: Mapping[str, Any], now: Mapping[str, Any], currency: str) -> str:
    """Return in one line what differs between what was and what is; "" if nothing does."""
    return _in_one_line(_differences(*difference(was, now), currency))


def whole_in_one_line(item: Item, currency: str) -> str:
    return _in_one_line(_whole(item, currency))


def _in_one_line(lines: Iterable[str]) -> str:
    return "; ".join(line.strip() for line in lines)


def lines_of(items: Collection[Item], currency: str) -> list[str]:
    """Return the items in words. After `LINES` lines, the rest is only counted."""
    return _cut((_whole(item, currency) for item in items), len(items))


def _cut(groups: Iterable[Iterable[str]], count: int) -> list[str]:
    """Return the lines of so many groups. What comes after `LINES` lines is only counted."""
    lines: list[str] = []
    for number, group in enumerate(groups):
        if len(lines) >= LINES:
            return [*lines, f"… and {count - number:,} more"]
        lines += group
    return lines


def _event(change: CartChange, currency: str) -> Event:
    items = change.items
    if items and not change.item_id:
        groups = (_of_item(was, now, currency) for was, now in items.values())
        return Event(change, _cut(groups, len(items)))
    return Event(change, _lines(change.was, change.now, currency) or ["nothing was changed"])


def _of_item(was: Mapping[str, Any], now: Mapping[str, Any], currency: str) -> Iterable[str]:
    """Return how one of several items came, went or differs."""
    if was and now:
        lines = _lines(*difference(was, now), currency) or ["at another place"]
        return [f"{in_words(now['display_name'])}: {_in_one_line(lines)}"]
    first, *others = _lines(was, now, currency)
    return [f"{'added' if now else 'removed'} {first}", *others]


def _lines(was: Mapping[str, Any], now: Mapping[str, Any], currency: str) -> list[str]:
    if was.keys() == now.keys():
        return list(_differences(was, now, currency))
    return list(_whole(completed(Item, was or now), currency))


def _differences(was: Mapping[str, Any], now: Mapping[str, Any], currency: str) -> Iterator[str]:
    for name in now:
        if name in {"position", "closed_on"}:  # the order says it, and the time of the change
            continue
        if name == "options":
            yield from _options(was[name], now[name], currency)
        else:
            label = label_of(name).lower()
            words: Callable[[Any], str] = in_words
            if name == "price":
                words = partial(amount, currency=currency)
            elif name == "closed_until":
                words = moment_in_words
            yield f"{label} {words(was[name])} → {words(now[name])}"


def _whole(item: Item, currency: str) -> Iterator[str]:
    yield f"{item.quantity} × {item.display_name}, {amount(item.price, currency)}"
    yield from (f"    + {_option(option, currency)}" for option in item.options)
    if item.special_instructions:
        yield f"    {in_words(item.special_instructions)}"


def _options(was: Collection[Option], now: Collection[Option], currency: str) -> Iterator[str]:
    """Yield the options taken away and added; if there are none, that their order differs."""
    gone, come = list(was), []
    for option in now:
        if option in gone:
            gone.remove(option)
        else:
            come.append(option)
    for sign, options in (("−", gone), ("+", come)):
        yield from (f"{sign} option {_option(option, currency)}" for option in options)
    if not gone and not come:
        yield "options in another order"


def _option(option: Option, currency: str) -> str:
    price = f", {amount(option.price, currency)}" if option.price else ""
    return f"{option.display_name}{price}"
