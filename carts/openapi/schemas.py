"""The schemas: those of document.yaml, and those that serializers and declarations make."""

import inspect
import re
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from carts.openapi.example_cart import JsonDict
from carts.record_serializers import RecordSerializer
from carts.records import Closing, Item, Option, Reopening
from carts.value_types import Choice, Currency, Guid, Integer, Line, ListOf, Paragraph, Price
from cartsvc.api.operation import OPERATIONS, Operation
from cartsvc.characters import INVISIBLE, NOT_IN_LINE, NOT_IN_PARAGRAPH

# The schemas of document.yaml that describe the members of a body. Of other records it is Cart.
DESCRIBING_SCHEMAS = {
    Item: "CartItemRead",
    Option: "CartItemOptionRead",
    Closing: "CloseCart",
    Reopening: "ReopenCart",
}


def portable(characters: str) -> str:
    """Return character ranges up to U+00FF, as \\x80: the only way that all engines read.

    Beyond, the characters themselves would stand in a pattern, and Go refuses a U+FEFF in a source.
    """
    return re.split(r"\\u(?!00)", characters)[0].replace(r"\u00", r"\x")


# The patterns of texts; a line has a character that can be seen. The document's description says
# in words what they leave out.
PORTABLE_CONTROLS = portable(NOT_IN_LINE)
LINE_PATTERN = (
    f"^[^{PORTABLE_CONTROLS}]*[^{portable(INVISIBLE)}{PORTABLE_CONTROLS}][^{PORTABLE_CONTROLS}]*$"
)
PATTERNS = {
    Line: LINE_PATTERN,
    Paragraph: f"^[^{portable(NOT_IN_PARAGRAPH)}]*$",
    Currency: "^[A-Z]{3}$",  # of ISO 4217's codes, some may be withdrawn, and new ones come
}
GUID_PATTERN = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"


def reference_to(kind: str, name: str) -> JsonDict:
    return {"$ref": f"#/components/{kind}/{name}"}


def body_name(serializer: RecordSerializer) -> str:
    return type(serializer).__name__.removesuffix("Serializer")


def envelope_name(operation: Operation) -> str:
    return operation.name.replace(" ", "") + "Response"


def add_schemas(schemas: dict[str, JsonDict]) -> None:
    bodies = [operation.body for operation in OPERATIONS if operation.body]
    for serializer in bodies:
        bodies += [field.child for field in serializer.fields.values() if hasattr(field, "child")]
        describing = DESCRIBING_SCHEMAS.get(serializer.record, "Cart")
        described, fields = schemas[describing]["properties"], serializer.fields
        if missing := fields.keys() - described.keys():
            names = ", ".join(sorted(missing))
            raise ImproperlyConfigured(f"{describing} in document.yaml does not describe {names}.")
        sent = {name: schema_of(field, described[name]) for name, field in fields.items()}
        described |= {name: sent[name] for name in sent if [*described[name]] == ["description"]}
        schemas[body_name(serializer)] = {
            "description": inspect.getdoc(serializer),
            "properties": sent,
            "required": [name for name, field in fields.items() if field.required],
            **({"additionalProperties": False} if serializer.refuses_unknown else {}),
        }
    summary = schemas["CartSummary"]["properties"]
    summary |= {name: one for name, one in schemas["Cart"]["properties"].items() if name != "items"}
    for operation in OPERATIONS:
        envelope: JsonDict = {
            "description": f"The ApiResponse envelope of {operation.name}.",
            "properties": dict(schemas["ErrorResponse"]["properties"]),
        }
        data, description = operation.data, "Result payload."
        if not data and operation.can_return_representation:
            data, description = "Cart", "The cart after the change, if Prefer asks for it."
            envelope["required"] = [*envelope["properties"]]
        if data:
            reference = reference_to("schemas", data) | {"description": description}
            envelope["properties"]["data"] = reference
        schemas[envelope_name(operation)] = envelope
    for schema in schemas.values():
        if members := schema.get("properties"):
            schema["type"] = "object"
            schema.setdefault("required", list(members))


def schema_of(field: Any, described: JsonDict) -> JsonDict:
    """Return the schema of a member that is sent, with the words of the one that is read."""
    schema: JsonDict
    match kind := field.kind:
        case ListOf():
            schema = {"type": "array", "items": reference_to("schemas", body_name(field.child))}
            schema |= {} if kind.allow_empty else {"minItems": 1}
            schema |= {"maxItems": getattr(settings, kind.setting)} if kind.setting else {}
        case Integer(minimum=lowest, maximum=highest):
            size = "int32" if highest < 2**31 else "int64"
            schema = {"type": "integer", "format": size, "minimum": lowest, "maximum": highest}
        case Choice():
            schema = {"type": "string", "enum": [*kind.words]}
        case Guid():
            schema = {"type": "string", "format": "uuid", "pattern": GUID_PATTERN}
        case Price():
            bounds = {"minimum": 0, "maximum": float(kind.maximum)}
            schema = {"type": "number", "format": "double", **bounds}
        case Line() | Paragraph() | Currency():
            pattern = PATTERNS[type(kind)]
            schema = {"type": "string", "maxLength": kind.max_length, "pattern": pattern}
        case _:
            raise TypeError(f"There is no schema for {kind}.")
    if field.allow_null:
        schema["type"] = [schema["type"], "null"]
    return {**schema, "description": described["description"]}
