"""The status of a cart: whether and how it is closed, and from when on it has expired."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Expression, Q

from carts.cart_errors import CartClosed
from carts.records import CHECKOUT, ORDERED, OUTCOMES, Closing, Reopening
from cartsvc.json_values import compact_json, rfc3339
from cartsvc.member_names import camel_case

OPEN = "open"
STATUSES = (OPEN, *OUTCOMES)

# The columns of a `CartStatus`, in its order.
STATUS_COLUMNS = ("stored_status", "closed_on", "closed_until", "reference", "order_reference")


class CartStatus(NamedTuple):
    """What a cart is, and if it is closed: since when, until when, for what, as which order."""

    status: str
    closed_on: datetime | None = None
    closed_until: datetime | None = None
    reference: str | None = None
    order_reference: str | None = None

    def __repr__(self) -> str:
        until = f" until {rfc3339(self.closed_until)}" if self.closed_until else ""
        return f"<{self.status}{until}>"

    def at(self, moment: datetime) -> "CartStatus":
        """Return it as it is at the moment. Nothing is written when a checkout runs out."""
        if self.closed_until is not None and self.closed_until <= moment:
            return CartStatus(OPEN)
        return self

    def check_open(self, *differs: str) -> None:
        """Raise `cart_closed` unless the cart is open. `differs` names what the caller sent."""
        if self.status != OPEN:
            since, until = self.closed_on, self.closed_until
            when = f"until {rfc3339(until)}" if until else f"since {rfc3339(since)}"
            raise CartClosed(
                field=differs or None,
                status=self.status,
                closed_on=since,
                closed_until=until,
                when=when,
            )

    def check_opens(self, reopening: Reopening) -> None:
        """Raise `cart_closed` unless Reopen Cart may open the cart, or it is open."""
        one = reopening.reference
        if one is not None and (self.status, self.reference) != (CHECKOUT, one):
            self.check_open("reference")

    def after(self, closing: Closing, moment: datetime) -> "CartStatus":
        """Return it as Close Cart makes it: itself, if the cart is closed like this already."""
        until = moment + timedelta(seconds=closing.seconds) if closing.seconds else None
        number = closing.order_reference
        new = CartStatus(closing.outcome, moment, until, closing.reference, number)
        same = (self.status, self.reference) == (new.status, new.reference)
        onward = self.reference == new.reference and new.status == ORDERED
        if not same and not (onward and self.status == CHECKOUT):
            others = {self.reference, new.reference} - {None}
            is_another = self.status == new.status or len(others) > 1
            self.check_open("reference" if is_another else "outcome")
        if not same or self._duration() != new._duration():
            return new
        return self if number is None else self._replace(order_reference=number)

    def _duration(self) -> timedelta | None:
        return self.closed_until - self.closed_on if self.closed_until and self.closed_on else None


def expires_on(status: CartStatus, modified_on: datetime | None = None) -> datetime | None:
    """Return when the cart expires: from then on it may be deleted. None if it never does.

    `modified_on` may be left out where `status_columns` does not read it.
    """
    since, days = modified_on, settings.CART_DAYS
    if status.status == ORDERED and status.closed_on:
        since, days = status.closed_on, settings.ORDERED_CART_DAYS
    return since + timedelta(days=days) if since and days else None


def expired(moment: datetime) -> Q:
    """Return the condition of the carts that have expired by the moment. See `expires_on`."""
    found = Q(pk__in=[])
    if days := settings.CART_DAYS:
        found |= ~Q(stored_status=ORDERED) & Q(modified_on__lt=moment - timedelta(days=days))
    if days := settings.ORDERED_CART_DAYS:
        found |= Q(stored_status=ORDERED, closed_on__lt=moment - timedelta(days=days))
    return found


def has_status(status: str, moment: datetime | Expression) -> Q:
    """Return the condition of the carts that have the status at the moment."""
    if status == OPEN:
        return Q(stored_status=OPEN) | Q(stored_status=CHECKOUT, closed_until__lte=moment)
    # An index has the carts that were closed, and is used where the statement names these.
    closed = Q(stored_status=status, closed_on__isnull=False)
    return closed & Q(closed_until__gt=moment) if status == CHECKOUT else closed


def status_columns() -> tuple[str, ...]:
    """Return the columns by which `with_status` completes a cart's JSON."""
    # To read a time takes far longer than to read a text, and most carts do not expire.
    expire = settings.CART_DAYS or settings.ORDERED_CART_DAYS
    return (*STATUS_COLUMNS, "modified_on") if expire else STATUS_COLUMNS


def with_status(text: str, columns: Sequence[Any], moment: datetime) -> str:
    """Return a cart's JSON, with what its `status_columns` and the time of the answer decide."""
    if columns == OPEN_COLUMNS:
        return text[:-1] + OPEN_END
    end = len(STATUS_COLUMNS)
    status = CartStatus._make(columns[:end]).at(moment)
    return f"{text[:-1]},{_members(status, expires_on(status, *columns[end:]))}"


def _members(status: CartStatus, expires: datetime | None) -> str:
    """Return the text of the last members of a cart's JSON, and its end."""
    return compact_json(dict(zip(LAST_MEMBERS, (*status, expires), strict=True)))[1:]


LAST_MEMBERS = (*map(camel_case, CartStatus._fields), "expiresOn")
# Of most carts, which are open and never expire. Without it, a page of carts takes a tenth longer.
OPEN_COLUMNS = [*CartStatus(OPEN)]
OPEN_END = "," + _members(CartStatus(OPEN), None)
