"""Examples: of each request, each answer and each problem of an operation.

`manage.py serve` and the README show the first cart as well.
"""

from typing import Any

import simplejson
from django.conf import settings

from carts import errors as cart_errors
from carts.limits import MAX_LENGTHS, PRICE_DECIMALS, QUANTITY_MIN
from cartsvc import errors
from cartsvc.api.envelope import failure_text, success
from cartsvc.api.operation import Operation
from cartsvc.errors import Refusal

FIRST_CART: dict[str, Any] = {
    "partnerKey": "DEMO",
    "restaurantKey": 1,
    "platform": "curl",
    "orderingChannel": "WEB",
    "fulfilmentChannel": "DELIVERY",
    "currency": "EUR",
    "items": [
        {
            "menuKey": "DINNER",
            "menuVersion": 1,
            "menuItemKey": 42,
            "displayName": "Pizza Margherita",
            "currency": "EUR",
            "price": 9.5,
            "quantity": 2,
            "options": [
                {
                    "optionSetKey": 7,
                    "optionSetItemKey": 71,
                    "displayName": "Extra mozzarella",
                    "currency": "EUR",
                    "price": 1.25,
                }
            ],
        }
    ],
}
FIRST_ITEM = FIRST_CART["items"][0]

PROFILE_KEY = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
CART_ID = "019aa8c1-5b1e-7c60-9d3f-0b8f6f1e2a34"
ITEM_ID = "019aa8c1-5b1f-7a02-8c4d-6e5f4a3b2c1d"

KEYS = {"profileKey": PROFILE_KEY, "cartId": CART_ID, "itemId": ITEM_ID}

_HEAD = {
    "cartId": CART_ID,
    "profileKey": PROFILE_KEY,
    **{name: value for name, value in FIRST_CART.items() if name != "items"},
    "note": None,
    "specialInstructions": None,
}
_TAIL = {
    "subtotal": 21.5,
    "createdOn": "2026-01-31T18:30:00.123456Z",
    "modifiedOn": "2026-01-31T18:30:00.123456Z",
    "version": 1,
}
_ITEM = {"itemId": ITEM_ID, **FIRST_ITEM, "specialInstructions": None, "value": 21.5}

# The message of each operation's success, and its data.
SUCCESSES: dict[str, tuple[str, Any]] = {
    "Create Cart": ("The cart was created.", {"cartId": CART_ID}),
    "List Carts": (
        "The carts were found.",
        {"carts": [{**_HEAD, "itemCount": 1, **_TAIL}], "nextCursor": None},
    ),
    "Get Cart": ("The cart was found.", {**_HEAD, "items": [_ITEM], **_TAIL}),
    "Add Item": ("The item was added.", {"itemId": ITEM_ID}),
    "Update Item": ("The item was updated.", None),
    "Remove Item": ("The item was removed.", None),
}

# What differs each time in the text of a problem, and the field that it is about. The
# fields of a body are an item's; `failure_example` puts the item's place in front of them.
DETAILS: dict[type[Refusal], dict[str, Any]] = {
    errors.Required: {"field": "/menuKey"},
    errors.InvalidType: {"field": "/menuVersion", "wanted": "an integer", "sent": "a string"},
    errors.MaxLength: {"field": "/menuKey", "limit": MAX_LENGTHS["menu_key"], "length": 21},
    errors.MinValue: {"field": "/quantity", "limit": QUANTITY_MIN},
    errors.InvalidGuid: {"field": "profileKey", "name": "profileKey"},
    errors.InvalidParameter: {"field": "limit", "text": "limit must be 1 to 100."},
    errors.MalformedJson: {
        "text": "The body is not JSON: Expecting ',' delimiter at line 3, column 3."
    },
    errors.UnknownMember: {"field": "/specialInstruction"},
    errors.UnsupportedMediaType: {"field": "Content-Type"},
    errors.PayloadTooLarge: {"limit": settings.MAX_BODY_BYTES},
    errors.ProfileMismatch: {"field": "profileKey"},
    errors.Throttled: {"seconds": 30},
    cart_errors.InvalidCurrency: {"field": "/currency"},
    cart_errors.CurrencyMismatch: {"field": "/currency", "currency": "EUR"},
    cart_errors.TooManyDecimals: {"field": "/price", "limit": PRICE_DECIMALS},
    cart_errors.PartnerMismatch: {"field": "/partnerKey"},
    cart_errors.VersionMismatch: {"field": "If-Match", "version": 4},
    cart_errors.RequestInProgress: {"field": "Idempotency-Key"},
    cart_errors.IdempotencyKeyReused: {"field": "Idempotency-Key"},
}


def request_example(operation: Operation) -> Any:
    """Return a body that the operation takes."""
    return FIRST_CART if operation.name == "Create Cart" else FIRST_ITEM


def success_example(operation: Operation) -> Any:
    """Return the body of the operation's success."""
    message, data = SUCCESSES[operation.name]
    return simplejson.loads(success(message, data).content)


def warning_example(operation: Operation) -> Any:
    """Return the body of a success that warns of a misspelt member."""
    message, data = SUCCESSES[operation.name]
    warning = _problem(operation, errors.UnknownMember)
    return simplejson.loads(success(message, data, [warning]).content)


def failure_example(operation: Operation, problem: type[Refusal]) -> Any:
    """Return the body of the operation's refusal for this problem."""
    return simplejson.loads(failure_text([_problem(operation, problem)]))


def _problem(operation: Operation, problem: type[Refusal]) -> Refusal:
    details = {"scopes": " or ".join(operation.scopes), **DETAILS.get(problem, {})}
    field = details.get("field", "")
    if field.startswith("/") and field != "/partnerKey" and operation.name == "Create Cart":
        details["field"] = f"/items/0{field}"
    return problem(**details)
