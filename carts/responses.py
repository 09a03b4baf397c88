"""The bodies of the answers: a cart as Get Cart and List Carts show it."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from simplejson import RawJSON

from carts.models.reads import CartSummary
from cartsvc.camel_case import camel_case

NAMES = ["cartId", *map(camel_case, CartSummary._fields[1:])]


def cart_body(cart: CartSummary, items: str | None) -> dict[str, Any]:
    """Return a cart as Get Cart shows it. `items` is the text of `items_json`."""
    return {
        "items" if name == "itemCount" else name: value
        for name, value in (summary_body(cart) | {"itemCount": RawJSON(f"[{items or ''}]")}).items()
    }


def summary_body(cart: CartSummary) -> dict[str, Any]:
    """Return a cart as List Carts shows it."""
    return {
        **dict(zip(NAMES, cart, strict=True)),
        "cartId": str(cart.id),
        "profileKey": str(cart.profile_key),
        "subtotal": _number(cart.subtotal),
        "createdOn": _timestamp(cart.created_on),
        "modifiedOn": _timestamp(cart.modified_on),
    }


def _number(amount: Decimal) -> Decimal:
    """Return the amount without trailing zeros, and never with an exponent."""
    whole = amount.to_integral_value()
    return whole if amount == whole else amount.normalize()


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
