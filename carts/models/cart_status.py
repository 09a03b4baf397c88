"""The status of a cart: whether and how it is closed, and from when on it has expired."""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db.models import Case, DateTimeField, Expression, F, Q, Value, When

from carts.cart_errors import CartClosed
from carts.records import CHECKOUT, ORDERED, OUTCOMES, Closing, Reopening
from cartsvc.json_values import rfc3339
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

    def as_of(self, moment: datetime) -> "CartStatus":
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

    def closed(self, closing: Closing, moment: datetime) -> "CartStatus":
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
        ends_then = self.closed_until == until or self._duration() == new._duration()
        if not (same and ends_then):
            return new
        return self if number is None else self._replace(order_reference=number)

    def reopened(self, reopening: Reopening | None) -> "CartStatus":
        """Return it as Reopen Cart makes it, or raise `cart_closed` if that may not open it."""
        if reopening and (self.status, self.reference) != (CHECKOUT, reopening.reference):
            self.check_open("reference")
        return CartStatus(OPEN)

    def _duration(self) -> timedelta | None:
        return self.closed_until - self.closed_on if self.closed_until and self.closed_on else None


# The last members of a cart's JSON.
LAST_MEMBERS = (*map(camel_case, CartStatus._fields), "expiresOn")


def expires_on() -> Expression:
    """Return when a cart expires: from then on it may be deleted. NULL if it never does."""
    days = {"modified_on": settings.CART_DAYS, "closed_on": settings.ORDERED_CART_DAYS}
    since_change, since_closing = (
        F(name) + timedelta(days=kept) if kept else Value(None, DateTimeField())
        for name, kept in days.items()
    )
    if not any(days.values()):
        return since_change
    ordered = When(stored_status=ORDERED, then=since_closing)
    return Case(ordered, default=since_change, output_field=DateTimeField(null=True))


def expired(moment: datetime) -> Q:
    """Return the condition of the carts that have expired by the moment, as `expires_on` says.

    Citus deletes by no CASE that has a time in it, so it is said once more.
    """
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
