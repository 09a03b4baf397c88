"""The schemas: those of document.yaml, and those that serializers and declarations make."""

import inspect
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from carts.limits import INT32_MAX, validate_currency, validate_line
from carts.models import Cart, CartItem, CartItemOption
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.openapi.examples import samples
from carts.serializers import WireListSerializer, WireSerializer
from carts.views import MAX_PAGE_SIZE, PAGE_SIZE
from carts.wire_types import DoubleField, IntField
from cartsvc.api.operation import OPERATIONS, Operation
from cartsvc.control_characters import LINE_BREAKERS, PARAGRAPH_BREAKERS
from cartsvc.request_errors import API_ERRORS

Schema = dict[str, Any]

# The schemas that have the words for what serializers of these models take.
READ = {Cart: "Cart", CartItem: "CartItemRead", CartItemOption: "CartItemOptionRead"}

# The patterns of texts; a line has a character that is not white space. RE2 and PCRE2 know no \u.
LINE = rf"^[^{LINE_BREAKERS}]*[^\s{LINE_BREAKERS}][^{LINE_BREAKERS}]*$".replace(r"\u00", r"\x")
PARAGRAPH = f"^[^{PARAGRAPH_BREAKERS}]*$".replace(r"\u00", r"\x")


def skeleton() -> Schema:
    """Return document.yaml with what the code knows of its values."""
    known = {
        **samples()["keys"],
        "page": MAX_PAGE_SIZE,
        "usual": PAGE_SIZE,
        "hours": settings.IDEMPOTENCY_HOURS,
        "key": KEY_MAX_LENGTH,
        "codes": ", ".join(sorted(API_ERRORS)),
    }
    return yaml.safe_load(Path(__file__).with_name("document.yaml").read_text() % known)


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def schema_name(serializer: WireSerializer) -> str:
    return type(serializer).__name__.removesuffix("Serializer")


def envelope_name(operation: Operation) -> str:
    return operation.name.replace(" ", "") + "Response"


def complete(schemas: dict[str, Schema]) -> None:
    """Add what the code knows to the schemas of document.yaml."""
    bodies = [operation.body for operation in OPERATIONS if operation.body]
    for serializer in bodies:
        bodies += [field.child for field in serializer.fields.values() if hasattr(field, "child")]
        read = schemas[READ[serializer.Meta.model]]["properties"]
        sent = {name: _sent(field, read[name]) for name, field in serializer.fields.items()}
        read |= {name: sent[name] for name in sent if read[name].keys() == {"description"}}
        schemas[schema_name(serializer)] = {
            "description": inspect.getdoc(serializer),
            "properties": sent,
            "required": [name for name, field in serializer.fields.items() if field.required],
        }
    summary = schemas["CartSummary"]["properties"]
    summary |= {name: m for name, m in schemas["Cart"]["properties"].items() if name != "items"}
    for operation in OPERATIONS:
        envelope = schemas["ErrorResponse"]["properties"]
        if operation.data:
            envelope = envelope | {"data": ref(operation.data) | {"description": "Result payload."}}
        about = f"The ApiResponse envelope of {operation.name}."
        schemas[envelope_name(operation)] = {"description": about, "properties": envelope}
    for schema in schemas.values():
        if members := schema.get("properties"):
            schema["type"] = "object"
            schema.setdefault("required", list(members))


def _sent(field: Any, read: Schema) -> Schema:
    """Return the schema of a member that is sent, with the words of the one that is read."""
    schema: Schema
    match field:
        case WireListSerializer(child=child):
            items = ref(schema_name(child))
            schema = {"type": "array", "items": items, "maxItems": child.max_count}
        case IntField(min_value=lowest, max_value=highest):
            size = "int32" if highest <= INT32_MAX else "int64"
            schema = {"type": "integer", "format": size, "minimum": lowest, "maximum": highest}
        case DoubleField(max_value=highest):
            highest = float(highest or 0)
            schema = {"type": "number", "format": "double", "minimum": 0, "maximum": highest}
        case _:
            # Of the codes of ISO 4217, some may be withdrawn, and new ones come.
            currency, line = (check in field.checks for check in (validate_currency, validate_line))
            pattern = "^[A-Z]{3}$" if currency else LINE if line else PARAGRAPH
            schema = {"type": "string", "maxLength": field.max_length, "pattern": pattern}
    if field.allow_null:
        schema["type"] = [schema["type"], "null"]
    return {**schema, "description": read["description"]}
