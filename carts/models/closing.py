"""How a cart ends: it is closed, for a checkout or for good, and deleted after some days."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Expression, Q

from carts.cart_errors import CartClosed
from carts.values import CHECKOUT, ORDERED, OUTCOMES, Closing

OPEN = "open"
STATUSES = (OPEN, *OUTCOMES)

Moment = datetime | Expression


class CartStatus(NamedTuple):
    """What a cart is, and if it is closed: since when, until when and for what."""

    status: str
    closed_on: datetime | None = None
    closed_until: datetime | None = None
    reference: str | None = None

    def at(self, moment: datetime) -> "CartStatus":
        """Return it as it is at the moment. Nothing is written when a checkout runs out."""
        if self.closed_until is not None and self.closed_until <= moment:
            return CartStatus(OPEN)
        return self

    def check_open(self) -> None:
        """Raise `cart_closed` unless the cart is open."""
        if self.status != OPEN:
            word, moment = "since", self.closed_on
            if self.closed_until:
                word, moment = "until", self.closed_until
            raise CartClosed(status=self.status, word=word, moment=moment, at=_text(moment))

    def closed(self, closing: Closing, moment: datetime) -> "CartStatus":
        """Return it as Close Cart makes it: itself, if the cart is closed like this already.

        Raises:
            ApiError: `cart_closed`, with another outcome or for another reference.
        """
        until = moment + timedelta(seconds=closing.seconds) if closing.seconds else None
        new = CartStatus(closing.outcome, moment, until, closing.reference)
        same = (self.status, self.reference) == (new.status, new.reference)
        onward = self.reference == new.reference and new.status == ORDERED
        if not same and not (onward and self.status == CHECKOUT):
            self.check_open()
        return self if same and self._lasts() == new._lasts() else new

    def _lasts(self) -> timedelta | None:
        return self.closed_until - self.closed_on if self.closed_until and self.closed_on else None


def expires_on(status: CartStatus, modified_on: datetime | None) -> datetime | None:
    """Return when the cart expires: from then on it may be deleted. None if it never does.

    `modified_on` may be None where `status_columns` does not read it.
    """
    since, days = modified_on, settings.CART_DAYS
    if status.status == ORDERED and status.closed_on:
        since, days = status.closed_on, settings.ORDERED_CART_DAYS
    return since + timedelta(days=days) if since and days else None


def expired(moment: datetime) -> Q:
    """Return the condition of the carts that have expired by the moment. See `expires_on`."""
    found = Q(pk__in=[])
    if days := settings.CART_DAYS:
        found |= ~Q(status=ORDERED) & Q(modified_on__lt=moment - timedelta(days=days))
    if days := settings.ORDERED_CART_DAYS:
        found |= Q(status=ORDERED, closed_on__lt=moment - timedelta(days=days))
    return found


def has_status(status: str, moment: Moment) -> Q:
    """Return the condition of the carts that have the status at the moment."""
    if status == CHECKOUT:
        return Q(status=CHECKOUT, closed_until__gt=moment)
    if status == OPEN:
        return Q(status=OPEN) | Q(status=CHECKOUT, closed_until__lte=moment)
    return Q(status=status)


def status_columns() -> tuple[str, ...]:
    """Return the columns by which `with_status` completes a cart's JSON."""
    # To read a time takes far longer than to read a text, and most carts do not expire.
    expire = settings.CART_DAYS or settings.ORDERED_CART_DAYS
    return ("closed_until", "status", "closed_on", "modified_on") if expire else ("closed_until",)


def with_status(text: str, columns: Sequence[Any], moment: datetime) -> str:
    """Return the JSON text of a cart with what the time of the answer decides.

    `text` ends with `FOR_EVER`, and `columns` are the values of the cart's `status_columns`.
    """
    closed_until, *others = columns
    if closed_until is not None and closed_until <= moment:
        # A quote within a JSON string is escaped, so this finds the member and no caller's text.
        text = text[: text.rindex(',"status":')] + OPEN_MEMBERS
    if others:
        status, closed_on, modified_on = others
        state = CartStatus(status, closed_on, closed_until).at(moment)
        if expires := _text(expires_on(state, modified_on)):
            return f'{text.removesuffix(FOR_EVER)},"expiresOn":"{expires}"}}'
    return text


def _text(moment: datetime | None) -> str | None:
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z" if moment else None


# The end of the JSON of a cart that never expires, and of one that is open, too.
FOR_EVER = ',"expiresOn":null}'
OPEN_MEMBERS = f',"status":"open","closedOn":null,"closedUntil":null,"reference":null{FOR_EVER}'
