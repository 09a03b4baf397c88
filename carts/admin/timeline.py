"""The history of a cart as the desk shows it: newest first, with what was and what is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from carts.admin.display import in_words
from carts.admin.slips import amount
from carts.models import Cart, CartChange
from carts.models.change import MAX_CHANGES, Author

AUTHORS = {"bearer": "API", "staff": "Staff", "shell": "Command line"}

# The changes that a page shows at once.
PAGE_SIZE = 20


@dataclass(frozen=True, slots=True)
class Event:
    """A change as the page shows it.

    `item` names the item that was changed. `lines` say in words what was and what is.
    `subtotal` is what the change has made of the subtotal, if it has changed it.
    """

    version: int
    at: datetime
    author: Author
    operation: str
    item: str = ""
    lines: tuple[str, ...] = ()
    subtotal: str = ""

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


def timeline(cart: Cart, before: int | None = None) -> Timeline:
    """Return a page of the cart's history: the changes below the version `before`, if given."""
    changes = cart.changes.reverse()
    if before is not None:
        changes = changes.filter(version__lt=before)
    found = list(changes[: PAGE_SIZE + 1])
    events = [_event(change, cart.currency) for change in found[:PAGE_SIZE]]
    if len(found) > PAGE_SIZE:
        return Timeline(events, earlier=events[-1].version)
    oldest = events[-1].version if events else min(before or cart.version + 1, cart.version + 1)
    return Timeline([*events, _creation(cart)], missing=oldest - 2)


def events_since(cart: Cart, version: int) -> list[Event]:
    """Return the changes that are kept since the version, newest first."""
    changes = cart.changes.filter(version__gt=version).reverse()[:MAX_CHANGES]
    return [_event(change, cart.currency) for change in changes]


def _creation(cart: Cart) -> Event:
    return Event(1, cart.created_on, cart.created_by, "Create Cart")


def _event(change: CartChange, currency: str) -> Event:
    subtotal = ""
    if change.subtotal_before != change.subtotal_after:
        before, after = change.subtotal_before, change.subtotal_after
        subtotal = f"{amount(before, currency)} → {amount(after, currency)} {currency}"
    return Event(
        change.version,
        change.at,
        Author(change.author_kind, change.author_name, change.request_id),
        change.operation,
        change.item_name or "",
        tuple(_lines(change.was, change.now, currency)),
        subtotal,
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
            label = name.replace("_", " ").removeprefix("display ")
            yield f"{label} {in_words(was[name], currency)} → {in_words(now[name], currency)}"


def _whole(item: Mapping[str, Any], currency: str) -> Iterator[str]:
    if not item:
        return
    yield f"{item['quantity']} × {item['display_name']}, {amount(item['price'], currency)}"
    yield from (f"+ {_option(option, currency)}" for option in item["options"])
    if item["special_instructions"]:
        yield in_words(item["special_instructions"])


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
