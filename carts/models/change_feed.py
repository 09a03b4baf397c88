"""The changes that List Changes returns, of all carts, in order of time.

Nothing is written for it. It reads a creation from the cart, whose id begins with its time, a
change from its record, and a deletion from what is kept of the cart. Each has the time at which it
was decided, and others see it only later. So it is listed once nothing that comes before it can
still commit: see `settled_until`.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.db import connection, models
from django.db.models import Case, OuterRef, Q, Subquery, When

from carts.models.cart import Cart
from carts.models.cart_change import CartChange, decoded
from carts.models.cart_status import OPEN
from carts.models.deleted_cart import DeletedCart
from carts.models.page_cursor import PageCursor
from carts.records import CHECKOUT, ORDERED
from cartsvc.db.compiled_statements import Parameter, Select, one_exchange
from cartsvc.db.time_limits import REQUEST_SECONDS
from cartsvc.guids import EPOCH, first_key_at, made_at

# How far the clocks of all machines may differ.
CLOCK_SECONDS = 2
# After how long a change is listed, at the earliest.
SETTLING_SECONDS = REQUEST_SECONDS + CLOCK_SECONDS

# The most changes of all partners that a page looks through for those of one.
LOOKED_THROUGH = 1_000

OLDEST = PageCursor(EPOCH, UUID(int=0))
DELETION = 10**18 - 1  # comes after every version

CREATE, CLOSE, DELETE = "Create Cart", "Close Cart", "Delete Cart"


class ListedChange(NamedTuple):
    """A creation, a change or a deletion of a cart, as List Changes shows it.

    `status` is the cart's after it. A deletion has no `version`.
    """

    cart_id: UUID
    profile_key: UUID
    partner_key: str
    restaurant_key: int
    version: int | None
    operation: str
    at: datetime
    status: str


def settled_until() -> datetime:
    """Return the moment before which nothing happens any more.

    A creation takes its moment up to REQUEST_SECONDS before it writes, a change later.
    """
    oldest: datetime = connection.oldest_write()  # type: ignore[attr-defined] # of cartsvc.db
    return oldest - timedelta(seconds=SETTLING_SECONDS)


def changes_after(
    after: PageCursor | None, limit: int, keys: Mapping[str, object]
) -> tuple[list[ListedChange], PageCursor]:
    """Return up to `limit` changes after a cursor, those of the carts with these `keys`.

    The cursor returned is where to go on. Without one, the list begins now.
    """
    end, found = settled_until(), list[ListedChange]()
    if after is None:
        return found, PageCursor(end, OLDEST.cart_id)
    size = LOOKED_THROUGH if keys else limit
    for place, change in sorted(_changes_between(after, end, size))[:size]:
        after = place
        if all(getattr(change, name) == value for name, value in keys.items()):
            found.append(change)
            if len(found) == limit:
                break
    return found, after


def _changes_between(
    after: PageCursor, end: datetime, limit: int
) -> Iterator[tuple[PageCursor, ListedChange]]:
    # The first ids that can be made in the millisecond of the cursor and in the next one.
    millisecond = after.at - timedelta(microseconds=after.at.microsecond % 1_000)
    this = first_key_at(millisecond)
    following = first_key_at(millisecond + timedelta(milliseconds=1))
    low = min(max(after.cart_id, _before(this)), _before(following))
    values = {
        **after._asdict(),
        "end": end,
        "created_after": low if millisecond == after.at else _before(following),
        "created_before": first_key_at(end),
        # The only thing that comes after a deletion at the same moment is another cart.
        "deleted": after.cart_id if after.version == DELETION else _before(after.cart_id),
    }
    selects = _selects(limit)
    with connection.cursor() as cursor:
        cursors = [cursor.db.cursor() for _ in selects]
        with one_exchange(cursor):
            for select, own in zip(selects, cursors, strict=True):
                select.send(own, values)
        created, changed, deleted = (
            select.received(own) for select, own in zip(selects, cursors, strict=True)
        )
    for *cart, at in created:
        listed = ListedChange._make((*cart, 1, CREATE, at, OPEN))
        yield PageCursor(made_at(listed.cart_id), listed.cart_id, 1), listed
    for *change, closing in changed:
        listed = ListedChange._make((*change, _status_after(closing)))
        yield PageCursor(listed.at, listed.cart_id, change[4]), listed
    for *cart, at in deleted:
        listed = ListedChange._make((*cart, None, DELETE, at, OPEN))
        yield PageCursor(at, listed.cart_id, DELETION), listed


def _before(key: UUID) -> UUID:
    return UUID(int=max(0, key.int - 1))


def _status_after(closing: str | None) -> str:
    """Return the cart's status after a change, if that closed it by what its record holds."""
    if closing is None:
        return OPEN
    values = decoded(closing)
    # One that closed the cart again, in another way of the same status, does not name it.
    return str(values.get("status") or (CHECKOUT if "closed_until" in values else ORDERED))


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
