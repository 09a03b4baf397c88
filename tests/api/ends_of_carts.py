"""How tests close and reopen carts."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from carts.models import Cart
from tests.support.answers import assert_refused
from tests.support.callers import Api
from tests.support.table_contents import unguarded_rows

CHECKOUT = {"outcome": "checkout", "reference": "payment-1"}
ORDERED = {"outcome": "ordered", "reference": "payment-1"}
ABANDONED = {"outcome": "abandoned"}


def close(api: Api, cart_id: str, body: Any, **headers: str) -> Any:
    return api.post(f"/{cart_id}/close", body, **headers)


def reopen(api: Api, cart_id: str, body: Any = None, **headers: str) -> Any:
    return api.post(f"/{cart_id}/reopen", body, **headers)


def assert_closed(response: Any, cart: Any, field: str | None = None) -> None:
    """Check that the answer tells how the cart is closed, in words and as facts."""
    when = f"since {cart['closedOn']}"
    if cart["closedUntil"]:
        when = f"until {cart['closedUntil']}"
    text = f"The cart is closed: {cart['status']} {when}."
    facts = {name: cart[name] for name in ("status", "closedOn", "closedUntil")}
    assert_refused(response, 409, "cart_closed", text, field, **facts)


def run_out(cart_id: str) -> None:
    """Let the checkout have ended a moment ago."""
    past = timezone.now() - timedelta(seconds=1)
    unguarded_rows(Cart).filter(pk=cart_id).update(closed_until=past)


def now_after(**later: int) -> datetime:
    return datetime.now(UTC) + timedelta(**later)
