"""The changes that List Changes returns, of all carts, in order of time.

Nothing is written for it. It reads a creation from the cart, whose id begins with its time, a
change from its record, and a deletion from what is kept of the cart. Each has the time at which it
was decided, and others see it only later. So it is listed once nothing that comes before it can
still commit: see `settled_until`.

The key of the list is a `PageCursor`: the time, then the cart's id, then the version that was made.
A creation's time is the millisecond in the id, and its version is 1. A deletion comes after every
version.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.db import connection, models
from django.db.models import Case, OuterRef, Q, Subquery, When
from django.utils import timezone

from carts.models.cart import Cart
from carts.models.cart_change import CartChange, decoded
from carts.models.cart_status import OPEN
from carts.models.reads import PageCursor
from carts.models.tombstones import DeletedCart
from carts.records import CHECKOUT, ORDERED
from cartsvc.db.compiled_statements import AwaitMoves, Parameter, Select
from cartsvc.db.time_limits import REQUEST_SECONDS
from cartsvc.db.transaction import Transaction
from cartsvc.guids import EPOCH, first_key_at, made_at

# How far the clocks of all machines may differ.
CLOCK_SECONDS = 2
# After how long a change is listed, at the earliest.
SETTLING_SECONDS = REQUEST_SECONDS + CLOCK_SECONDS

# The most changes that a page looks through, whoever's they are: a page of a thousand makes the
# other callers wait, and does not bring its reader on sooner.
LOOKED_THROUGH = 100

OLDEST = PageCursor(EPOCH, UUID(int=0))
DELETION = 10**18 - 1  # comes after every version

CREATE, CLOSE, DELETE = "Create Cart", "Close Cart", "Delete Cart"


class ListedChange(NamedTuple):
    """A creation, a change or a deletion of a cart, as List Changes shows it.

    `status` and `closed_until` are the cart's after it. A deletion has no `version`.
    """

    cart_id: UUID
    profile_key: UUID
    partner_key: str
    restaurant_key: int
    version: int | None
    operation: str
    at: datetime
    status: str
    closed_until: datetime | None


def settled_until() -> datetime:
    """Return the moment before which nothing happens any more.

    A creation takes its moment at most REQUEST_SECONDS before it writes, a change under its lock.
    """
    oldest: datetime = connection.oldest_write()  # type: ignore[attr-defined] # of cartsvc.db
    moment = oldest - timedelta(seconds=SETTLING_SECONDS)
    # Creations of a millisecond that is not over would come before the changes of it.
    return moment - timedelta(microseconds=moment.microsecond % 1_000)


def is_ahead(seen: PageCursor) -> bool:
    """Return whether it lies further ahead of this machine's clock than clocks may differ."""
    return seen.at > timezone.now() + timedelta(seconds=CLOCK_SECONDS)


def changes_after(
    seen: PageCursor | None, limit: int, keys: Mapping[str, object]
) -> tuple[list[ListedChange], PageCursor]:
    """Return up to `limit` changes after what was seen, those of the carts with these `keys`.

    The cursor returned is where to go on. Without one, the list begins now.
    """
    end, found = settled_until(), list[ListedChange]()
    if seen is None:
        return found, PageCursor(end, OLDEST.cart_id)
    size = LOOKED_THROUGH if keys else limit
    for cursor, change in sorted(_changes_between(seen, end, size))[:size]:
        seen = cursor
        if all(getattr(change, name) == value for name, value in keys.items()):
            found.append(change)
            if len(found) == limit:
                break
    return found, seen


def _changes_between(
    seen: PageCursor, end: datetime, limit: int
) -> Iterator[tuple[PageCursor, ListedChange]]:
    values = {
        **seen._asdict(),
        "end": end,
        "created_after": _last_creation(seen),
        "created_before": first_key_at(end),
        # The cart's own deletion at the same moment comes later, unless it has been seen.
        "deleted": seen.cart_id if seen.version == DELETION else _before(seen.cart_id),
    }
    selects = ((select, values) for select in _selects(limit))
    created, changed, deleted = Transaction().round_trip([(AwaitMoves(), values), *selects])
    for *cart, at in created:
        listed = ListedChange._make((*cart, 1, CREATE, at, OPEN, None))
        yield PageCursor(made_at(listed.cart_id), listed.cart_id, 1), listed
    for *change, closing in changed:
        listed = ListedChange._make((*change, *_status_after(closing)))
        yield PageCursor(listed.at, listed.cart_id, change[4]), listed
    for *cart, at in deleted:
        listed = ListedChange._make((*cart, None, DELETE, at, OPEN, None))
        yield PageCursor(at, listed.cart_id, DELETION), listed


def _last_creation(seen: PageCursor) -> UUID:
    """Return the id up to which creations do not come after what was seen.

    Of those in its millisecond, the ones with a greater id come after it. Its cart may have been
    made at another time, so that its id is below or above all of these.
    """
    millisecond = seen.at - timedelta(microseconds=seen.at.microsecond % 1_000)
    last = _before(first_key_at(millisecond + timedelta(milliseconds=1)))
    if millisecond < seen.at:
        return last
    return min(max(seen.cart_id, _before(first_key_at(millisecond))), last)


def _before(key: UUID) -> UUID:
    """Return the id before it in order, after which the key itself is the next one."""
    return UUID(int=max(0, key.int - 1))


def _status_after(closing: str | None) -> tuple[str, datetime | None]:
    """Return the cart's status after a change and when that ends, by the record of a closing."""
    if closing is None:
        return OPEN, None
    values = decoded(closing)
    until = values.get("closed_until")
    # One that closed the cart again, in another way of the same status, does not name it.
    status = values.get("status") or (CHECKOUT if until else ORDERED)
    return status, until and datetime.fromisoformat(until)


@lru_cache(100)  # callers choose the limit
def _selects(limit: int) -> list[Select]:
    """Return the SELECTs of creations, changes and deletions, each in order of time."""
    at, end = (Parameter(name, models.DateTimeField()) for name in ("at", "end"))
    cart_id, deleted, above, below = (
        Parameter(name, models.UUIDField())
        for name in ("cart_id", "deleted", "created_after", "created_before")
    )
    later = Q(cart_id__gt=cart_id) | Q(
        cart_id=cart_id, version__gt=Parameter("version", models.BigIntegerField())
    )
    of_cart = "profile_key", "partner_key", "restaurant_key"
    # Not a join: PostgreSQL might read and sort all changes to make it.
    its = Cart.objects.filter(pk=OuterRef("cart_id"), profile_key=OuterRef("profile_key"))
    querysets = (
        Cart.objects.filter(id__gt=above, id__lt=below)
        .order_by("id")
        .values_list("id", *of_cart, "created_on"),
        CartChange.objects.filter(Q(at__gt=at) | later, at__gte=at, at__lt=end)
        .order_by("at", "cart_id", "version")
        .values_list(
            *("cart_id", "profile_key"),
            *(Subquery(its.values(name)) for name in of_cart[1:]),
            *("version", "operation", "at", Case(When(operation=CLOSE, then="after"))),
        ),
        DeletedCart.objects.filter(
            Q(deleted_on__gt=at) | Q(id__gt=deleted), deleted_on__gte=at, deleted_on__lt=end
        )
        .order_by("deleted_on", "id")
        .values_list("id", *of_cart, "deleted_on"),
    )
    return [Select(lambda rows=rows: rows[:limit]) for rows in querysets]  # type: ignore[misc]
