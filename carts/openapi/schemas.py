"""What the service answers, as JSON Schema: the parts that `carts.openapi` refers to."""

from typing import Any

Schema = dict[str, Any]

GUID: Schema = {
    "type": "string",
    "format": "uuid",
    "pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
}
AMOUNT: Schema = {"type": "number", "minimum": 0, "description": "Exact, with up to 4 decimals."}
TIMESTAMP: Schema = {"type": "string", "format": "date-time"}

CODES = (
    "required",
    "null",
    "blank",
    "max_length",
    "min_value",
    "max_value",
    "invalid_type",
    "invalid_guid",
    "invalid_currency",
    "currency_mismatch",
    "too_many_decimals",
    "control_character",
    "too_many",
    "malformed_json",
    "invalid_header",
    "invalid_parameter",
    "not_authenticated",
    "invalid_token",
    "insufficient_scope",
    "profile_mismatch",
    "partner_mismatch",
    "cart_not_found",
    "item_not_found",
    "version_mismatch",
    "idempotency_key_reused",
    "request_in_progress",
    "method_not_allowed",
    "unsupported_media_type",
    "payload_too_large",
    "throttled",
    "unavailable",
    "internal_error",
    "not_found",
)


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _header(description: str, schema: Schema, *, required: bool = True) -> Schema:
    return {"description": description, "schema": schema, "required": required}


COMMON_HEADERS = {
    "X-Request-ID": _header(
        "The request's id: the caller's own, or a new one.",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{8,64}$"},
    ),
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
                {"type": "string", "enum": list(CODES)},
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
