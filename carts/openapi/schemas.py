"""JSON Schemas of what the service answers, for `carts.openapi.document` to refer to."""

from typing import Any

from cartsvc.api.problems import PROBLEM_TYPES

Schema = dict[str, Any]

GUID: Schema = {
    "type": "string",
    "format": "uuid",
    "pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
}
AMOUNT: Schema = {"type": "number", "minimum": 0, "description": "Exact, with up to 4 decimals."}
TIMESTAMP: Schema = {"type": "string", "format": "date-time"}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _header(description: str, schema: Schema, *, required: bool = True) -> Schema:
    return {"description": description, "schema": schema, "required": required}


COMMON_HEADERS = {
    "X-Request-ID": _header(
        "The request's id: the caller's own, or a new one.",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{8,64}$"},
    ),
    **{
        f"RateLimit-{name}": _header(
            f"Only where rates are limited: {meaning}.",
            {"type": "integer", "minimum": lowest},
            required=False,
        )
        for name, meaning, lowest in (
            ("Limit", "the requests of a window", 1),
            ("Remaining", "how many of them are left", 0),
            ("Reset", "seconds until the window ends", 1),
        )
    },
}
SUCCESS_HEADERS = {
    "ETag": _header("The cart's version.", {"type": "string", "pattern": '^"[1-9][0-9]*"$'}),
    "Idempotent-Replayed": _header(
        "Only when an earlier request had done it.",
        {"type": "string", "enum": ["true"]},
        required=False,
    ),
}
_RETRY_AFTER = _header("Seconds.", {"type": "integer", "minimum": 1})
_CHALLENGE = {"description": "As RFC 6750 has it.", "schema": {"type": "string"}}
ERROR_HEADERS: dict[int, Schema] = {
    401: {"WWW-Authenticate": {**_CHALLENGE, "required": True}},
    403: {"WWW-Authenticate": {**_CHALLENGE, "required": False}},
    429: {"Retry-After": _RETRY_AFTER},
    503: {"Retry-After": _RETRY_AFTER},
}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def answer_schemas(requests: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schemas of the answers; `requests` are those of the request bodies."""
    item = requests["CartItem"]["properties"]
    head = {
        "cartId": GUID,
        "profileKey": GUID,
        **requests["CreateCart"]["properties"],
    }
    del head["items"]
    tail = {
        "subtotal": AMOUNT,
        "createdOn": TIMESTAMP,
        "modifiedOn": TIMESTAMP,
        "version": {"type": "integer", "minimum": 1},
    }
    return {
        "ApiResponse": _envelope(_notification("Success", {"type": "null"}, {"type": "null"})),
        "UpdateCartItem": ref("CartItem"),
        "ErrorResponse": _envelope(
            _notification(
                "Error",
                {"type": "string", "enum": sorted(PROBLEM_TYPES)},
                {"oneOf": [{"type": "null"}, _object(field={"type": "string"})]},
            ),
            maxItems=100,
        )
        | {"not": {"required": ["data"]}},
        "CartCreated": _object(cartId=GUID),
        "ItemAdded": _object(itemId=GUID),
        "CartItemRead": _object(itemId=GUID, **item, value=AMOUNT),
        "Cart": _object(**head, items={"type": "array", "items": ref("CartItemRead")}, **tail),
        "CartSummary": _object(**head, itemCount={"type": "integer", "minimum": 0}, **tail),
        "CartPage": _object(
            carts={"type": "array", "items": ref("CartSummary")},
            nextCursor={"oneOf": [{"type": "null"}, GUID]},
        ),
    }


def _envelope(notification: Schema, **limits: int) -> Schema:
    return _object(
        message={"type": "string"},
        notifications={"type": "array", "items": notification, "minItems": 1, **limits},
    )


def _notification(severity: str, code: Schema, additional_data: Schema) -> Schema:
    return _object(
        severity={"type": "string", "enum": [severity]},
        text={"type": "string"},
        code=code,
        additionalData=additional_data,
    )
