"""The specification's tables: the kind of each field, with its limits."""

from collections.abc import Callable
from typing import Any

INT32, INT64 = ("integer", -(2**31), 2**31 - 1), ("integer", -(2**63), 2**63 - 1)
CURRENCY, PRICE = ("currency",), ("price",)

# Unicode's white space without the control characters.
SPACES = [chr(code) for code in range(0xA0, 0x110000) if chr(code).isspace()]
# What nobody can see: an end of each range.
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180f\u200b\u200f\u202a\u202e\u2060\u206f\u3164"
    "\ufe00\ufe0f\ufeff\uffa0\ufff0\ufff8\U0001bca0\U0001d173\U000e0000\U000e0fff\u2800"
)
BLANKS = [*SPACES, *IGNORABLE]

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
