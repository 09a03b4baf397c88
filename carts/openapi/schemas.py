"""The schemas: those of document.yaml, and those that serializers and declarations make."""

import inspect
import re
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from carts.models.idempotency import KEPT_HOURS, KEY_MAX_LENGTH
from carts.openapi.examples import samples
from carts.record_serializers import RecordSerializer
from carts.records import AddedItems, Closing, Item, ItemList, NewCart, Option
from carts.value_types import INT64, Choice, Currency, Guid, Integer, Line, ListOf, Price
from carts.views import MAX_PAGE_SIZE, PAGE_SIZE
from cartsvc.api.operation import OPERATIONS, Operation
from cartsvc.characters import INVISIBLE, LINE_BREAKERS, PARAGRAPH_BREAKERS
from cartsvc.request_errors import API_ERRORS

Schema = dict[str, Any]

# The schemas that have the words for what serializers of these records take.
READ: dict[Any, str] = {
    NewCart: "Cart",
    AddedItems: "Cart",
    ItemList: "Cart",
    Item: "CartItemRead",
    Option: "CartItemOptionRead",
    Closing: "CloseCart",
}


def pattern_of(expression: str) -> str:
    """Return the expression as all engines read it: \\x80, and no \\u but the character itself."""
    short = re.sub(r"\\u00(..)", r"\\x\1", expression)
    return re.sub(r"\\[uU]([0-9a-f]{8}|[0-9a-f]{4})", lambda found: chr(int(found[1], 16)), short)


# The patterns of texts; a line has a character that can be seen. Those beyond U+FFFF that cannot
# are left out: JavaScript without the flag u would read each half of such a character by itself.
UNSEEN = INVISIBLE.partition(r"\U")[0]
LINE = pattern_of(f"^[^{LINE_BREAKERS}]*[^{UNSEEN}{LINE_BREAKERS}][^{LINE_BREAKERS}]*$")
PARAGRAPH = pattern_of(f"^[^{PARAGRAPH_BREAKERS}]*$")


def skeleton() -> Schema:
    """Return document.yaml with what the code knows of its values."""
    known = {
        **samples()["keys"],
        "page": MAX_PAGE_SIZE,
        "usual": PAGE_SIZE,
        "hours": KEPT_HOURS,
        "key": KEY_MAX_LENGTH,
        "codes": ", ".join(sorted(API_ERRORS)),
    }
    return yaml.safe_load(Path(__file__).with_name("document.yaml").read_text("utf-8") % known)


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def schema_name(serializer: RecordSerializer) -> str:
    return type(serializer).__name__.removesuffix("Serializer")


def envelope_name(operation: Operation) -> str:
    return operation.name.replace(" ", "") + "Response"


def complete(schemas: dict[str, Schema]) -> None:
    """Add what the code knows to the schemas of document.yaml."""
    bodies = [operation.body for operation in OPERATIONS if operation.body]
    for serializer in bodies:
        bodies += [field.child for field in serializer.fields.values() if hasattr(field, "child")]
        read = schemas[READ[serializer.Meta.record]]["properties"]
        sent = {name: _sent(field, read[name]) for name, field in serializer.fields.items()}
        read |= {name: sent[name] for name in sent if read[name].keys() == {"description"}}
        schemas[schema_name(serializer)] = {
            "description": inspect.getdoc(serializer),
            "properties": sent,
            "required": [name for name, field in serializer.fields.items() if field.required],
        }
    summary = schemas["CartSummary"]["properties"]
    summary |= {name: m for name, m in schemas["Cart"]["properties"].items() if name != "items"}
    schemas["ItemsReplaced"]["properties"] |= schemas["Cart"]["properties"]
    for operation in OPERATIONS:
        envelope: Schema = {
            "description": f"The ApiResponse envelope of {operation.name}.",
            "properties": dict(schemas["ErrorResponse"]["properties"]),
        }
        data, about = operation.data, "Result payload."
        if not data and operation.can_return_representation:
            data, about = "Cart", "The cart after the change, if Prefer asks for it."
            envelope["required"] = [*envelope["properties"]]
        if data:
            envelope["properties"]["data"] = ref(data) | {"description": about}
        schemas[envelope_name(operation)] = envelope
    for schema in schemas.values():
        if members := schema.get("properties"):
            schema["type"] = "object"
            schema.setdefault("required", list(members))


def _sent(field: Any, read: Schema) -> Schema:
    """Return the schema of a member that is sent, with the words of the one that is read."""
    schema: Schema
    match kind := field.kind:
        case ListOf():
            items = ref(schema_name(field.child))
            schema = {"type": "array", "items": items}
            schema |= {} if kind.allow_empty else {"minItems": 1}
            schema |= {"maxItems": getattr(settings, kind.setting)} if kind.setting else {}
        case Integer(minimum=lowest, maximum=highest):
            size = "int64" if kind == INT64 else "int32"
            schema = {"type": "integer", "format": size, "minimum": lowest, "maximum": highest}
        case Choice():
            schema = {"type": "string", "enum": [*kind.words]}
        case Guid():
            schema = dict(read)
        case Price():
            bounds = {"minimum": 0, "maximum": float(kind.maximum)}
            schema = {"type": "number", "format": "double", **bounds}
        case _:
            # Of the codes of ISO 4217, some may be withdrawn, and new ones come.
            pattern = LINE if isinstance(kind, Line) else PARAGRAPH
            pattern = "^[A-Z]{3}$" if isinstance(kind, Currency) else pattern
            schema = {"type": "string", "maxLength": kind.max_length, "pattern": pattern}
    if field.allow_null:
        schema["type"] = [schema["type"], "null"]
    return {**schema, "description": read["description"]}
