"""The history of a cart as the desk shows it: newest first, with what was and what is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any
from uuid import UUID

from carts.admin.display import LABELS, Items, in_words
from carts.admin.slips import amount
from carts.models import Cart, CartChange
from carts.models.change import MAX_CHANGES, Author, difference, items_before

AUTHORS = {"bearer": "API", "staff": "Staff", "shell": "Command line"}

# The changes that a page shows at once.
PAGE_SIZE = 20

# The most lines about the items of a whole cart, such as it was created with.
LINES = 50


@dataclass(frozen=True, slots=True)
class Event:
    """A change as the page shows it.

    `item` names the item that was changed. `lines` say in words what was and what is.
    `subtotal` is what the change has made of the subtotal, if it has changed it. `undoes` is the
    id of the item that can be put back as it was before the change, if there is one.
    """

    version: int
    at: datetime
    author: Author
    operation: str
    item: str = ""
    lines: tuple[str, ...] = ()
    subtotal: str = ""
    undoes: UUID | None = None

    @property
    def by(self) -> str:
        """The channel of the change: the API, staff or the command line."""
        return AUTHORS.get(self.author.kind, self.author.kind)


@dataclass(frozen=True, slots=True)
class Timeline:
    """A page of a cart's history, newest first.

    `earlier` is the version below which the next page begins, None on the last page. `missing`
    is the number of changes after the creation that are no longer kept.
    """

    events: list[Event]
    earlier: int | None = None
    missing: int = 0


def timeline(cart: Cart, items: Items, before: int | None = None) -> Timeline:
    """Return a page of the cart's history: the changes below the version `before`, if given.

    `items` are those that the cart holds now.
    """
    changes = cart.changes.reverse()
    if before is not None:
        changes = changes.filter(version__lt=before)
    found = list(changes[: PAGE_SIZE + 1])
    events = [_event(change, cart.currency) for change in found[:PAGE_SIZE]]
    if len(found) > PAGE_SIZE:
        return Timeline(events, earlier=events[-1].version)
    oldest = events[-1].version if events else min(before or cart.version + 1, cart.version + 1)
    missing = oldest - 2
    history = found if before is None or missing else list(cart.changes.reverse())
    return Timeline([*events, _creation(cart, items, history)], missing=missing)


def events_since(cart: Cart, version: int) -> list[Event]:
    """Return the changes that are kept since the version, newest first."""
    changes = cart.changes.filter(version__gt=version).reverse()[:MAX_CHANGES]
    return [_event(change, cart.currency) for change in changes]


def change_of(was: Mapping[str, Any], now: Mapping[str, Any], currency: str) -> str:
    """Return in one line what differs between what was and what is; "" if nothing does.

    Both are whole. Of an item that is added nothing was: `was` is empty.
    """
    if was:
        was, now = difference(was, now, [*was])
    return "; ".join(line.strip() for line in _lines(was, now, currency))


def lines_of(items: Items, currency: str) -> tuple[str, ...]:
    """Return the items in words. After `LINES` lines, the rest is only counted."""
    lines: list[str] = []
    for number, item in enumerate(items):
        if len(lines) >= LINES:
            return (*lines, f"… and {len(items) - number:,} more")
        lines += _whole(item, currency)
    return tuple(lines)


def _creation(cart: Cart, items: Items, changes: list[CartChange]) -> Event:
    """Return the creation with the items of then in their order, if no change is missing."""
    created: Items = []
    if len(changes) >= cart.version - 1:
        then = items_before({item["item_id"]: item for item in items}, changes).values()
        created = [item for item in then if "position" not in item]
        removed = [item for item in then if "position" in item]
        # The positions at the creation are 0, 1, 2 and so on.
        for item in sorted(removed, key=itemgetter("position")):
            created.insert(item["position"], item)
    lines = lines_of(created, cart.currency)
    return Event(1, cart.created_on, cart.created_by, "Create Cart", lines=lines)


def _event(change: CartChange, currency: str) -> Event:
    was, subtotal = change.was, ""
    if change.subtotal_before != change.subtotal_after:
        before, after = change.subtotal_before, change.subtotal_after
        subtotal = f"{amount(before, currency)} → {amount(after, currency)} {currency}"
    return Event(
        change.version,
        change.at,
        change.author,
        change.operation,
        change.item_name or "",
        tuple(_lines(was, change.now, currency)),
        subtotal,
        change.item_id if was else None,
    )


def _lines(was: Mapping[str, Any], now: Mapping[str, Any], currency: str) -> Iterator[str]:
    """Yield what differs, in words. Of an item that came or went, what it is."""
    if not was or not now:
        yield from _whole(was or now, currency)
        return
    for name in now:
        if name == "options":
            yield from _options(was[name], now[name], currency)
        else:
            label = LABELS.get(name, name.replace("_", " ")).lower()
            yield f"{label} {in_words(was[name], currency)} → {in_words(now[name], currency)}"


def _whole(item: Mapping[str, Any], currency: str) -> Iterator[str]:
    if not item:
        return
    yield f"{item['quantity']} × {item['display_name']}, {amount(item['price'], currency)}"
    yield from (f"    + {_option(option, currency)}" for option in item["options"])
    if item["special_instructions"]:
        yield f"    {in_words(item['special_instructions'])}"


def _options(was: list[Any], now: list[Any], currency: str) -> Iterator[str]:
    """Yield the options taken away and added; if there are none, that their order differs."""
    gone, come = list(was), []
    for option in now:
        if option in gone:
            gone.remove(option)
        else:
            come.append(option)
    yield from (f"without {_option(option, currency)}" for option in gone)
    yield from (f"with {_option(option, currency)}" for option in come)
    if not gone and not come:
        yield "options in another order"


def _option(option: Mapping[str, Any], currency: str) -> str:
    return f"{option['display_name']}, {amount(option['price'], currency)}"
