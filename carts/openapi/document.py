"""The OpenAPI document of the six operations, exact in types, limits and statuses.

The request bodies come from the serializers and so from the models' limits, the operations
from their declarations, the problems from theirs. `schemas` and `answers` describe what the
service answers, `descriptions` has the words, `examples` the examples.
"""

import re
from functools import cache
from threading import Lock
from typing import Any

import simplejson
from django.http import HttpResponse
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from rest_framework.request import Request
from rest_framework.views import APIView

from carts.base_view import CartServiceViewSet
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.openapi import descriptions, examples
from carts.openapi.answers import answers
from carts.openapi.schemas import GUID, TEXT, Schema, complete, operation_id, ref
from carts.views import MAX_PAGE_SIZE, PAGE_SIZE
from carts.wire_types import DoubleField, IntField, StringField
from cartsvc.api.headers import TAGS_MAX_LENGTH
from cartsvc.api.operation import Operation, operation_of
from cartsvc.camel_case import camel_case
from cartsvc.control_characters import LINE_BREAKERS

_TAG = r'(W/)?"[\x21\x23-\x7e]*"'

PAGE: dict[str, Schema] = {
    "limit": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": MAX_PAGE_SIZE,
        "default": PAGE_SIZE,
    },
    "cursor": TEXT,
}
HEADERS: dict[str, Schema] = {
    "Idempotency-Key": {
        "type": "string",
        "minLength": 1,
        "maxLength": KEY_MAX_LENGTH,
        "pattern": r"^[\x21-\x7e]+$",
    },
    "If-Match": {
        "type": "string",
        "maxLength": TAGS_MAX_LENGTH,
        "pattern": rf"^(\*|{_TAG}([ \t]*,[ \t]*{_TAG})*)$",
    },
    "If-None-Match": {"type": "string", "maxLength": TAGS_MAX_LENGTH},
    "Prefer": TEXT,
}


class DocumentView(APIView):
    """The document itself, open to everyone and built once."""

    http_method_names = ["get", "head"]
    authentication_classes = ()
    permission_classes = ()
    schema = None

    def get(self, request: Request) -> HttpResponse:
        """Return the document."""
        # Who comes while it is built waits: two builds at once have failed.
        with BUILDING:
            document = _document()
        return HttpResponse(document, content_type="application/json")


BUILDING = Lock()


@cache
def _document() -> bytes:
    document = DocumentGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return simplejson.dumps(document, use_decimal=True).encode()


class DocumentGenerator(SchemaGenerator):
    """Adds what the service is, in the names of the wire."""

    def get_schema(self, *args: Any, **kwargs: Any) -> Schema:
        result = super().get_schema(*args, **kwargs)  # type: ignore[no-untyped-call]
        bearer = {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": descriptions.BEARER,
        }
        return {
            "openapi": result["openapi"],
            "info": {
                "title": "Cart Service",
                "version": "2.0",
                "description": (
                    "Create Cart and Update Cart Item (v2.0, Beta), and what makes them usable."
                ),
            },
            "servers": [{"url": "/"}],
            "tags": [
                {"name": name, "description": text} for name, text in descriptions.TAGS.items()
            ],
            "paths": {camel_case(path): methods for path, methods in result["paths"].items()},
            "components": {
                "schemas": complete(result["components"]["schemas"]),
                "securitySchemes": {"bearer": bearer},
            },
        }


class DeclaredSchema(AutoSchema):
    """Describes a view's operation in the words of its declaration."""

    @property
    def operation(self) -> Operation:
        operation = operation_of(self.view, getattr(self.view, "action", None))
        assert operation is not None  # noqa: S101 (HasScope serves no view without)
        return operation

    def get_operation(self, *args: Any, **kwargs: Any) -> Schema:
        described = super().get_operation(*args, **kwargs)
        assert described is not None  # noqa: S101 (no operation is excluded)
        described["parameters"] = self.parameters()
        described["responses"] = answers(self.operation)
        if self.operation.body:
            body = described["requestBody"]["content"]["application/json"]
            body["example"] = examples.request_example(self.operation)
            if self.operation.name == "Update Item":
                body["schema"] = ref("UpdateCartItem")
        return described

    def parameters(self) -> list[Schema]:
        """Return the parameters: those of the path, in its order, and then the others."""
        keys = [camel_case(name) for name in re.findall(r"\{(\w+)\}", self.path)]
        query = PAGE if self.operation.data == "CartPage" else {}
        return [
            *(_parameter("path", name, GUID) for name in keys),
            *(_parameter("query", name, schema) for name, schema in query.items()),
            *(_parameter("header", name, HEADERS[name]) for name in self.operation.takes),
        ]

    def get_operation_id(self) -> str:
        return operation_id(self.operation)

    def get_summary(self) -> str:
        return self.operation.name

    def get_description(self) -> str:  # type: ignore[override]
        origin = descriptions.BETA if self.operation.specified else descriptions.EXTENSION
        head = descriptions.HEAD if self.method == "GET" else ""
        return f"{origin}{self.operation.description}{head}"

    def get_extensions(self) -> Schema:
        return {"x-beta": True} if self.operation.specified else {"x-extension": True}

    def get_tags(self) -> list[str]:
        return ["Items" if "/items" in self.path else "Carts"]

    def get_auth(self) -> list[dict[str, list[str]]]:
        return [{"bearer": [scope]} for scope in self.operation.scopes]

    def map_parsers(self) -> list[str]:
        """Return the one media type that `cartsvc.api.strict_json` takes."""
        return ["application/json"]

    def get_request_serializer(self) -> Any:
        return self.operation.body

    def get_response_serializers(self) -> None:
        """Leave out the answers, which no serializer makes; `answers` describes them."""


# The views know nothing of the document.
CartServiceViewSet.schema = DeclaredSchema()


def _parameter(place: str, name: str, schema: Schema) -> Schema:
    parameter = {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": descriptions.PARAMETERS[name],
        "schema": schema,
    }
    # Pages that try an operation send what an optional one has for an example.
    return parameter | ({"example": examples.KEYS[name]} if place == "path" else {})


class StringFieldSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = StringField

    def map_serializer_field(self, auto_schema: Any, direction: str) -> Schema:
        field = self.target
        if field.field_name == "currency":
            return ref("Currency")
        if field.allow_null:
            # `schemas` adds the pattern: the generator would make an alternative of it.
            return {"type": "string", "maxLength": field.max_length}
        return {
            "type": "string",
            "minLength": 1,
            "maxLength": field.max_length,
            "pattern": rf"^[^{LINE_BREAKERS}]*[^\s{LINE_BREAKERS}][^{LINE_BREAKERS}]*$",
        }


class IntFieldSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = IntField

    def map_serializer_field(self, auto_schema: Any, direction: str) -> Schema:
        field = self.target
        return {
            "type": "integer",
            "format": "int32" if field.max_value < 2**31 else "int64",
            "minimum": field.min_value,
            "maximum": field.max_value,
        }


class DoubleFieldSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = DoubleField

    def map_serializer_field(self, auto_schema: Any, direction: str) -> Schema:
        return {
            "type": "number",
            "format": "double",
            "minimum": 0,
            "maximum": float(self.target.max_value),
        }
