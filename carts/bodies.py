"""The bodies of the answers: a cart as Get Cart and List Carts show it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from carts.models import Cart, contents
from carts.models.reads import CartSummary
from carts.serializers import CART_ITEM, CREATE_CART, CartItemOptionSerializer
from cartsvc.api.names import wire_name

CART_NAMES = CREATE_CART.wire_names()
ITEM_NAMES = [CART_ITEM.wire_names()[column] for column in contents.ITEM_SENT]
SUMMARY_NAMES = ["cartId", *map(wire_name, CartSummary._fields[1:])]
OPTION_NAMES = [CartItemOptionSerializer().wire_names()[column] for column in contents.OPTION_SENT]


def cart_body(cart: Cart) -> dict[str, Any]:
    """Return a cart read by `CartManager.find`, as Get Cart shows it."""
    rows = contents.in_order(cart.item_rows)
    values = [contents.value_of(row) for row in rows]
    return {
        "cartId": str(cart.id),
        "profileKey": str(cart.profile_key),
        **{name: getattr(cart, column) for column, name in CART_NAMES.items()},
        "items": list(map(_item_body, rows, values)),
        "subtotal": _number(sum(values)),
        "createdOn": _timestamp(cart.created_on),
        "modifiedOn": _timestamp(cart.modified_on),
        "version": cart.version,
    }


def summary_body(cart: CartSummary) -> dict[str, Any]:
    """Return a cart read by `CartManager.page`, as List Carts shows it."""
    return {
        **dict(zip(SUMMARY_NAMES, cart, strict=True)),
        "cartId": str(cart.id),
        "profileKey": str(cart.profile_key),
        "itemCount": cart.item_count or 0,
        "subtotal": _number(cart.subtotal or 0),
        "createdOn": _timestamp(cart.created_on),
        "modifiedOn": _timestamp(cart.modified_on),
    }


def _item_body(row: Sequence[Any], value: Decimal) -> dict[str, Any]:
    _position, _id, *sent, options = row
    return {
        "itemId": contents.item_id(row),
        **dict(zip(ITEM_NAMES, sent, strict=True)),
        "options": [
            dict(zip(OPTION_NAMES, option[1:], strict=True))
            for option in contents.in_order(options)
        ],
        "value": _number(value),
    }


def _number(amount: Decimal | int) -> Decimal:
    """Return the amount without trailing zeros, and never with an exponent."""
    # SQLite's JSON has a whole price as an integer.
    amount = Decimal(amount)
    whole = amount.to_integral_value()
    return whole if amount == whole else amount.normalize()


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
