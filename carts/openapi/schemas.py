"""The schemas: those of document.yaml, and those that serializers and declarations make."""

import inspect
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from carts.base_view import WARNINGS
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.serializers import RecordListSerializer, RecordSerializer, lists_of, members_of
from carts.types import CURRENCIES, INT32, INT64, Currency, Integer, Line, Price
from carts.values import Item, NewCart, Option
from carts.views import MAX_PAGE_SIZE, PAGE_SIZE
from cartsvc.api.headers import TAGS_MAX_LENGTH
from cartsvc.api.operation import OPERATIONS, Operation
from cartsvc.control_characters import LINE_BREAKERS, PARAGRAPH_BREAKERS
from cartsvc.request_errors import API_ERRORS, MAX_ERRORS

Schema = dict[str, Any]

# The schemas that have the words for what serializers of these records take.
READ: dict[Any, str] = {NewCart: "Cart", Item: "CartItemRead", Option: "CartItemOptionRead"}

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
        "int32": INT32.maximum,
        "int64": INT64.maximum,
        "notifications": MAX_ERRORS + WARNINGS,
        "codes": ", ".join(sorted(API_ERRORS)),
    }
    text = Path(__file__).with_name("document.yaml").read_text()
    return yaml.safe_load(text % limits)


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def schema_name(serializer: type[RecordSerializer]) -> str:
    return serializer.__name__.removesuffix("Serializer")


def envelope_name(operation: Operation) -> str:
    """Return the name of the envelope's schema: `CreateCartResponse`."""
    return operation.name.replace(" ", "") + "Response"


def complete(schemas: dict[str, Schema]) -> None:
    """Add what the code knows to the schemas of document.yaml."""
    schemas["Currency"]["enum"] = sorted(CURRENCIES)
    serializers = [type(operation.body) for operation in OPERATIONS if operation.body]
    for serializer in serializers:
        kind: Any = serializer
        serializers += map(type, lists_of(kind).values())
    requests = {schema_name(one): _request(one, schemas) for one in serializers}
    for serializer in serializers:
        record: Any = serializer.Meta.record
        read = schemas[READ[record]]["properties"]
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


def _request(serializer: type[RecordSerializer], schemas: dict[str, Schema]) -> Schema:
    own = schemas.get(schema_name(serializer), {"properties": {}})
    words = schemas[READ[serializer.Meta.record]]["properties"] | own["properties"]
    properties, required = {}, []
    for name, _, field, *_ in members_of(serializer):
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
    if isinstance(field, RecordListSerializer):
        child: Any = type(field.child)
        items = ref(schema_name(child))
        return {
            "type": _or_null("array", field),
            "items": items,
            "maxItems": field.kind.max_count,
        }, ""
    match kind := field.kind:
        case Currency():
            return ref("Currency"), ""
        case Integer():
            size, rule = ("int64", BIG) if kind == INT64 else ("int32", "")
            limits = {"minimum": kind.minimum, "maximum": kind.maximum}
            schema = {"type": "integer", "format": size, **limits}
        case Price():
            limits = {"minimum": 0, "maximum": float(kind.maximum)}
            schema, rule = {"type": "number", "format": "double", **limits}, EXACT
        case Line():
            one, rule = f"[^{LINE_BREAKERS}]", LINE
            pattern = rf"^{one}*[^\s{LINE_BREAKERS}]{one}*$"
            limits = {"minLength": 1, "maxLength": kind.max_length}
            schema = {"type": "string", "pattern": pattern, **limits}
        case _:
            pattern, rule = f"^[^{PARAGRAPH_BREAKERS}]*$", PARAGRAPH
            schema = {"type": "string", "pattern": pattern, "maxLength": kind.max_length}
    return schema | {"type": _or_null(schema["type"], field)}, rule


def _or_null(name: str, field: Any) -> str | list[str]:
    return [name, "null"] if field.allow_null else name


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
