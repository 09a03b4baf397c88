"""Examples: of each request, each answer and each problem of an operation.

`manage.py serve` and the README show the first cart as well.
"""

from typing import Any

from django.conf import settings

from carts import errors as cart_errors
from carts.limits import MAX_LENGTHS, PRICE_DECIMALS, QUANTITY_MIN
from cartsvc import errors
from cartsvc.api.operation import Operation
from cartsvc.errors import Refusal

OPTION = {
    "optionSetKey": 7,
    "optionSetItemKey": 71,
    "displayName": "Extra mozzarella",
    "currency": "EUR",
    "price": 1.25,
}
ITEM = {
    "menuKey": "DINNER",
    "menuVersion": 1,
    "menuItemKey": 42,
    "displayName": "Pizza Margherita",
    "currency": "EUR",
    "price": 9.5,
    "quantity": 2,
    "options": [OPTION],
}
FIRST_CART = {
    "partnerKey": "DEMO",
    "restaurantKey": 1,
    "platform": "curl",
    "orderingChannel": "WEB",
    "fulfilmentChannel": "DELIVERY",
    "currency": "EUR",
    "items": [ITEM],
}
KEYS = {
    "profileKey": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "cartId": "019aa8c1-5b1e-7c60-9d3f-0b8f6f1e2a34",
    "itemId": "019aa8c1-5b1f-7a02-8c4d-6e5f4a3b2c1d",
}
READ_ITEM = {"itemId": KEYS["itemId"], **ITEM, "specialInstructions": None, "value": 21.5}
READ_CART = {
    "cartId": KEYS["cartId"],
    "profileKey": KEYS["profileKey"],
    **FIRST_CART,
    "note": None,
    "specialInstructions": None,
    "items": [READ_ITEM],
    "itemCount": 1,
    "subtotal": 21.5,
    "createdOn": "2026-01-31T18:30:00.123456Z",
    "modifiedOn": "2026-01-31T18:30:00.123456Z",
    "version": 1,
}
# An example of an object is what it needs of the first of these that has all its members.
WHOLE: list[dict[str, Any]] = [
    READ_CART,
    READ_ITEM,
    OPTION,
    {"carts": [READ_CART], "nextCursor": None},
]
MISTAKE = "Expecting ',' delimiter at line 3, column 3"

# The problems that any operation may have, any with a body, any with an item in its body, and
# others, each with what differs from time to time: details of the text, and what it is about.
Details = dict[type[Refusal], dict[str, Any]]
OF_ANY: Details = {
    errors.InvalidGuid: {"field": "profileKey", "name": "profileKey"},
    errors.NotAuthenticated: {},
    errors.InvalidToken: {},
    errors.InsufficientScope: {},
    errors.ProfileMismatch: {"field": "profileKey"},
    errors.Throttled: {"seconds": 30},
    errors.InternalError: {},
    errors.Unavailable: {},
}
OF_BODIES: Details = {
    errors.UnknownMember: {"field": "/specialInstruction"},
    errors.MalformedJson: {"text": f"The body is not JSON: {MISTAKE}."},
    errors.PayloadTooLarge: {"limit": settings.MAX_BODY_BYTES},
    errors.UnsupportedMediaType: {"field": "Content-Type"},
}
OF_ITEMS: Details = {
    errors.Required: {"field": "/menuKey"},
    errors.InvalidType: {"field": "/menuVersion", "wanted": "an integer", "sent": "a string"},
    errors.MaxLength: {"field": "/menuKey", "limit": MAX_LENGTHS["menu_key"], "length": 21},
    errors.MinValue: {"field": "/quantity", "limit": QUANTITY_MIN},
    cart_errors.InvalidCurrency: {"field": "/currency"},
    cart_errors.CurrencyMismatch: {"field": "/currency", "currency": "EUR"},
    cart_errors.TooManyDecimals: {"field": "/price", "limit": PRICE_DECIMALS},
}
OTHERS: Details = {
    errors.InvalidParameter: {"field": "limit", "text": "limit must be 1 to 100."},
    cart_errors.CannotChange: {"field": "/currency"},
    cart_errors.PartnerMismatch: {"field": "/partnerKey"},
    cart_errors.VersionMismatch: {"field": "If-Match", "version": 4},
    cart_errors.RequestInProgress: {"field": "Idempotency-Key"},
    cart_errors.IdempotencyKeyReused: {"field": "Idempotency-Key"},
}
DETAILS = OF_ANY | OF_BODIES | OF_ITEMS | OTHERS


def example(name: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return an object that the schema of this name describes."""
    members = schemas[name]["properties"]
    whole = next(one for one in WHOLE if one.keys() >= members.keys())
    found = {}
    for member, schema in members.items():
        value = whole[member]
        if isinstance(value, list):
            value = [example(schema["items"]["$ref"].rpartition("/")[2], schemas)]
        if value is not None or member in schemas[name].get("required", ()):
            found[member] = value
    return found


def problems(operation: Operation, sent: dict[str, Any]) -> list[Refusal]:
    """Return the problems that are shown of an operation with a body such as `sent`, if any."""
    kinds = [*OF_ANY, *operation.problems]
    if sent:
        [item] = sent.get("items", [sent])
        kinds += OF_BODIES
        kinds += [kind for kind, details in OF_ITEMS.items() if details["field"][1:] in item]
    return [problem(kind, operation, sent) for kind in kinds]


def problem(kind: type[Refusal], operation: Operation, sent: dict[str, Any]) -> Refusal:
    """Return a problem of this kind, as the operation may have it."""
    refusal = kind(**{"scopes": " or ".join(operation.scopes), **DETAILS.get(kind, {})})
    in_item = kind in OF_ITEMS or kind is errors.UnknownMember
    return refusal.below("/items/0") if in_item and "items" in sent else refusal
