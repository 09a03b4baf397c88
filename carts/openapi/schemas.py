"""JSON Schemas of requests and answers, each a component with a name and a description."""

from copy import deepcopy
from typing import Any

from django.conf import settings

from carts.base_view import WARNINGS
from carts.limits import CURRENCIES, INT32_MAX, INT64_MAX
from carts.openapi import descriptions
from carts.views import MAX_PAGE_SIZE
from cartsvc.api.operation import OPERATIONS, Operation
from cartsvc.control_characters import PARAGRAPH_BREAKERS
from cartsvc.errors import MAX_PROBLEMS, REFUSALS

Schema = dict[str, Any]

GUID: Schema = {
    "type": "string",
    "format": "uuid",
    "pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
}
AMOUNT: Schema = {"type": "number", "format": "double", "minimum": 0}
COUNT: Schema = {"type": "integer", "format": "int32", "minimum": 0, "maximum": INT32_MAX}
VERSION: Schema = {"type": "integer", "format": "int64", "minimum": 1, "maximum": INT64_MAX}
TIMESTAMP: Schema = {"type": "string", "format": "date-time"}
TEXT: Schema = {"type": "string"}
# Not the list of today: a code that is new must not break a client that is deployed.
CODE: Schema = {"type": ["string", "null"]}
CURRENCY_READ: Schema = {"type": "string"}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def array(name: str, **limits: int) -> Schema:
    return {"type": "array", "items": ref(name), **limits}


def operation_id(operation: Operation) -> str:
    first, *rest = operation.name.split()
    return first.lower() + "".join(rest)


def envelope_name(operation: Operation) -> str:
    """Return the name of the envelope's schema: `CreateCartResponse`."""
    return operation.name.replace(" ", "") + "Response"


def complete(generated: dict[str, Schema]) -> dict[str, Schema]:
    """Return all schemas, described; `generated` are those that serializers make."""
    requests = _requests(generated)
    schemas = {**requests, **_shown(requests), **_notifications(), **_envelopes()}
    for name, schema in schemas.items():
        schema.setdefault("description", descriptions.SCHEMAS.get(name))
        texts = {**descriptions.ENVELOPE, **descriptions.PROPERTIES.get(name, {})}
        for member, described in schema.get("properties", {}).items():
            described["description"] = texts[member]
    code = schemas["Notification"]["properties"]["code"]
    code["description"] = code["description"].format(codes=", ".join(sorted(REFUSALS)))
    return schemas


def _requests(generated: dict[str, Schema]) -> dict[str, Schema]:
    requests = deepcopy(generated)
    cart, item = requests["CreateCart"]["properties"], requests["CartItem"]["properties"]
    cart["items"] |= {"type": ["array", "null"], "maxItems": settings.MAX_ITEMS}
    item["options"] |= {"type": ["array", "null"], "maxItems": settings.MAX_OPTIONS}
    for text in (cart["note"], cart["specialInstructions"], item["specialInstructions"]):
        text["pattern"] = f"^[^{PARAGRAPH_BREAKERS}]*$"
    for schema in requests.values():
        schema.pop("description", None)  # a docstring, which speaks to us
    return {
        **requests,
        # No reference to CartItem: every client has a model of this name then.
        "UpdateCartItem": deepcopy(requests["CartItem"]),
        "Currency": {"type": "string", "enum": sorted(CURRENCIES)},
    }


def _shown(requests: dict[str, Schema]) -> dict[str, Schema]:
    sent = {
        name: {**deepcopy(requests[name]["properties"]), "currency": CURRENCY_READ}
        for name in ("CreateCart", "CartItem", "CartItemOption")
    }
    head = {"cartId": GUID, "profileKey": GUID, **sent["CreateCart"]}
    del head["items"]
    tail = {
        "subtotal": AMOUNT,
        "createdOn": TIMESTAMP,
        "modifiedOn": TIMESTAMP,
        "version": VERSION,
    }
    item = {**sent["CartItem"], "options": array("CartItemOptionRead")}
    return {
        "CartCreated": _object(cartId=GUID),
        "ItemAdded": _object(itemId=GUID),
        "CartItemOptionRead": _object(**sent["CartItemOption"]),
        "CartItemRead": _object(itemId=GUID, **item, value=AMOUNT),
        "Cart": _object(**head, items=array("CartItemRead"), **tail),
        "CartSummary": _object(**head, itemCount=COUNT, **tail),
        "CartPage": _object(
            carts=array("CartSummary", maxItems=MAX_PAGE_SIZE),
            nextCursor={"type": ["string", "null"]},
        ),
    }


def _notifications() -> dict[str, Schema]:
    return {
        "Severity": {"type": "string", "enum": ["Success", "Warning", "Error"]},
        "NotificationData": _object(field=TEXT),
        "Notification": _object(
            severity=ref("Severity"),
            text=TEXT,
            code=CODE,
            # Of a type that is an object or null, one generator makes a model of no name.
            additionalData={"anyOf": [ref("NotificationData"), {"type": "null"}]},
        ),
    }


def _envelopes() -> dict[str, Schema]:
    told = array("Notification", minItems=1, maxItems=1 + WARNINGS)
    plain = {"message": TEXT, "notifications": told}
    envelopes = {}
    for operation in OPERATIONS:
        data = {"data": ref(operation.data)} if operation.data else {}
        text = descriptions.ENVELOPE_WITH_DATA if data else descriptions.ENVELOPE_WITHOUT_DATA
        envelopes[envelope_name(operation)] = {
            **_object(**plain, **data),
            "description": text.format(name=operation.name),
        }
    told = array("Notification", minItems=1, maxItems=MAX_PROBLEMS + 1)
    return {**envelopes, "ErrorResponse": _object(message=TEXT, notifications=told)}


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in properties.items()},
        "required": list(properties),
    }
