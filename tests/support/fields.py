"""The specification's tables: the kind of each field, with its limits."""

from collections.abc import Callable
from typing import Any

INT32, INT64 = ("integer", -(2**31), 2**31 - 1), ("integer", -(2**63), 2**63 - 1)
CURRENCY, PRICE = ("currency",), ("price",)

# What need not be sent, beside lists.
OPTIONAL = {"note", "specialInstructions"}

FIELDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "cart": {
        "partnerKey": ("line", 4),
        "restaurantKey": INT32,
        "items": ("list", 200),
        "platform": ("line", 50),
        "orderingChannel": ("line", 50),
        "fulfilmentChannel": ("line", 50),
        "currency": CURRENCY,
        "note": ("paragraph", 300),
        "specialInstructions": ("paragraph", 300),
    },
    "item": {
        "menuKey": ("line", 20),
        "menuVersion": INT32,
        "menuItemKey": INT64,
        "displayName": ("line", 100),
        "currency": CURRENCY,
        "price": PRICE,
        "quantity": ("integer", 1, 9_999),
        "options": ("list", 100),
        "specialInstructions": ("paragraph", 300),
    },
    "option": {
        "optionSetKey": INT64,
        "optionSetItemKey": INT64,
        "displayName": ("line", 100),
        "currency": CURRENCY,
        "price": PRICE,
    },
}


def by_kind(
    optional: Callable[[Any], Any], **kinds: Callable[..., Any]
) -> dict[str, dict[str, Any]]:
    """Return what `kinds` makes of each field's limits, and `optional` of that if it is.

    A kind that it has not is left out.
    """
    return {
        part: {
            name: optional(rule) if name in OPTIONAL else rule
            for name, (kind, *limits) in fields.items()
            if kind in kinds
            for rule in [kinds[kind](*limits)]
        }
        for part, fields in FIELDS.items()
    }
