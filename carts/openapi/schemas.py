"""The schemas: those of document.yaml, and those that serializers and declarations make."""

import inspect
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from carts.base_view import WARNINGS
from carts.limits import CURRENCIES, INT32_MAX, INT64_MAX, validate_currency, validate_line
from carts.models import Cart, CartItem, CartItemOption
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.serializers import WireListSerializer, WireSerializer
from carts.views import MAX_PAGE_SIZE, PAGE_SIZE
from carts.wire_types import DoubleField, IntField
from cartsvc.api.headers import TAGS_MAX_LENGTH
from cartsvc.api.operation import OPERATIONS, Operation
from cartsvc.control_characters import LINE_BREAKERS, PARAGRAPH_BREAKERS
from cartsvc.request_errors import API_ERRORS, MAX_ERRORS

Schema = dict[str, Any]

# The schemas that have the words for what serializers of these models take.
READ = {Cart: "Cart", CartItem: "CartItemRead", CartItemOption: "CartItemOptionRead"}

EXACT = " Exact, with at most four decimals."
BIG = " A 64-bit integer: JavaScript rounds it above 2⁵³, so read it there as a BigInt."
LINE = " At least one character that is not white space, and no control characters."
PARAGRAPH = " May be null. No control characters but tabs and line breaks."


def skeleton() -> Schema:
    """Return document.yaml with the limits of the code."""
    limits = {
        "page": MAX_PAGE_SIZE,
        "usual": PAGE_SIZE,
        "hours": settings.IDEMPOTENCY_HOURS,
        "key": KEY_MAX_LENGTH,
        "tags": TAGS_MAX_LENGTH,
        "int32": INT32_MAX,
        "int64": INT64_MAX,
        "notifications": MAX_ERRORS + WARNINGS,
        "codes": ", ".join(sorted(API_ERRORS)),
    }
    text = Path(__file__).with_name("document.yaml").read_text()
    return yaml.safe_load(text % limits)


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def schema_name(serializer: WireSerializer) -> str:
    return type(serializer).__name__.removesuffix("Serializer")


def envelope_name(operation: Operation) -> str:
    """Return the name of the envelope's schema: `CreateCartResponse`."""
    return operation.name.replace(" ", "") + "Response"


def complete(schemas: dict[str, Schema]) -> None:
    """Add what the code knows to the schemas of document.yaml."""
    schemas["Currency"]["enum"] = sorted(CURRENCIES)
    serializers = [operation.body for operation in OPERATIONS if operation.body]
    for serializer in serializers:
        serializers += serializer.lists.values()
    requests = {schema_name(one): _request(one, schemas) for one in serializers}
    for serializer in serializers:
        read = schemas[READ[serializer.Meta.model]]["properties"]
        for name, member in requests[schema_name(serializer)]["properties"].items():
            if read[name].keys() == {"description"}:
                read[name].update(member)
    schemas |= requests
    cart, summary = schemas["Cart"]["properties"], schemas["CartSummary"]["properties"]
    count = summary.pop("itemCount")
    for name, member in cart.items():
        summary |= {"itemCount": count} if name == "items" else {name: member}
    for operation in OPERATIONS:
        schemas[envelope_name(operation)] = _envelope(operation, schemas["ErrorResponse"])
    for schema in schemas.values():
        if "properties" in schema:
            schema["type"] = "object"
            if not schema.setdefault("required", list(schema["properties"])):
                del schema["required"]


def _request(serializer: WireSerializer, schemas: dict[str, Schema]) -> Schema:
    own = schemas.get(schema_name(serializer), {"properties": {}})
    words = schemas[READ[serializer.Meta.model]]["properties"] | own["properties"]
    properties, required = {}, []
    for name, _, field in serializer.members:
        schema, rule = _field(field)
        properties[name] = schema | {"description": words[name]["description"] + rule}
        if field.required:
            required.append(name)
    description = inspect.getdoc(serializer)
    return {"description": description, "properties": properties, "required": required}


def _field(field: Any) -> tuple[Schema, str]:
    """Return the schema of a member that is sent, and what its description adds."""
    schema: Schema
    limits: Schema
    if isinstance(field, WireListSerializer):
        items = ref(schema_name(field.child))
        schema, rule = {"type": "array", "items": items, "maxItems": field.child.max_count}, ""
    elif isinstance(field, IntField):
        size, rule = ("int32", "") if field.max_value <= INT32_MAX else ("int64", BIG)
        limits = {"minimum": field.min_value, "maximum": field.max_value}
        schema = {"type": "integer", "format": size, **limits}
    elif isinstance(field, DoubleField):
        limits = {"minimum": 0, "maximum": float(field.max_value or 0)}
        schema, rule = {"type": "number", "format": "double", **limits}, EXACT
    elif validate_currency in field.checks:
        return ref("Currency"), ""
    else:
        line = validate_line in field.checks
        one = f"[^{LINE_BREAKERS if line else PARAGRAPH_BREAKERS}]"
        pattern, rule, limits = f"^{one}*$", PARAGRAPH, {"maxLength": field.max_length}
        if line:
            pattern, rule = rf"^{one}*[^\s{LINE_BREAKERS}]{one}*$", LINE
            limits["minLength"] = 1
        schema = {"type": "string", "pattern": pattern, **limits}
    return schema | ({"type": [schema["type"], "null"]} if field.allow_null else {}), rule


def _envelope(operation: Operation, failure: Schema) -> Schema:
    members = failure["properties"]
    notifications = members["notifications"] | {"maxItems": 1 + WARNINGS}
    properties = {**members, "notifications": notifications}
    description = f"The ApiResponse envelope of {operation.name}"
    if operation.data:
        properties["data"] = {**ref(operation.data), "description": "Result payload."}
    else:
        description += ", which returns no data property"
    return {"description": f"{description}.", "properties": properties}
