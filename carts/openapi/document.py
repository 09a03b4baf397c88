"""The OpenAPI document of the six operations, exact in types, limits and statuses.

The request bodies come from the serializers and so from the models' limits, the operations
from their declarations. `schemas` describes what the service answers.
"""

from functools import cache
from http import HTTPStatus
from threading import Lock
from typing import Any

import simplejson
from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from carts.fields import DoubleField, IntField, StringField
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.openapi.example import FIRST_CART
from carts.openapi.schemas import (
    COMMON_HEADERS,
    ERROR_HEADERS,
    GUID,
    SUCCESS_HEADERS,
    Schema,
    answer_schemas,
    ref,
)
from carts.serializers import CreateCartSerializer
from carts.validators import CURRENCIES
from carts.views import MAX_PAGE_SIZE, PAGE_SIZE, CartServiceViewSet
from cartsvc.api.names import wire_name
from cartsvc.api.operation import OPERATIONS, Operation, operation_of
from cartsvc.api.texts import LINE_BREAKERS, PARAGRAPH_BREAKERS

# What any operation may answer.
ALWAYS = (400, 401, 403, 429, 500, 503)

HEADERS = {
    "Idempotency-Key": OpenApiParameter(
        "Idempotency-Key",
        {
            "type": "string",
            "minLength": 1,
            "maxLength": KEY_MAX_LENGTH,
            "pattern": r"^[\x21-\x7e]+$",
        },
        OpenApiParameter.HEADER,
        description="Extension. The same key and body from the same profile within 24 hours "
        "answers with the first answer again and creates nothing.",
    ),
    "If-Match": OpenApiParameter(
        "If-Match",
        {"type": "string", "pattern": r'^(\*|(W/)?"[\x21\x23-\x7e]*")$'},
        OpenApiParameter.HEADER,
        description="Extension. The ETag of the cart that the change is meant for, or *.",
    ),
}

PAGE_PARAMETERS = [
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
        description="How many carts a page has at most.",
    ),
    OpenApiParameter(
        "cursor",
        GUID,
        description="The nextCursor of the page before.",
    ),
]


class DocumentView(APIView):
    """The document itself, open to everyone and built once."""

    http_method_names = ["get"]
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
    """Adds to the generated document what the service answers."""

    def get_schema(self, *args: Any, **kwargs: Any) -> Schema:
        return _complete(super().get_schema(*args, **kwargs))  # type: ignore[no-untyped-call]


class DeclaredSchema(AutoSchema):
    """Describes a view's operation in the words of its declaration."""

    @property
    def operation(self) -> Operation:
        operation = operation_of(self.view, getattr(self.view, "action", None))
        assert operation is not None  # noqa: S101 (HasScope serves no view without)
        return operation

    def get_operation_id(self) -> str:
        return _operation_id(self.operation)

    def get_summary(self) -> str:
        return self.operation.name

    def get_description(self) -> str:  # type: ignore[override]
        origin = "" if self.operation.specified else "Extension to the specification. "
        return origin + self.operation.description

    def get_extensions(self) -> Schema:
        return {} if self.operation.specified else {"x-extension": True}

    def get_tags(self) -> list[str]:
        return ["Specified" if self.operation.specified else "Extensions"]

    def get_auth(self) -> list[dict[str, list[str]]]:
        return [{"bearer": [scope]} for scope in self.operation.scopes]

    def get_override_parameters(self) -> list[Any]:
        listed = PAGE_PARAMETERS if self.operation.data == "CartPage" else []
        return [*listed, *(HEADERS[name] for name in self.operation.takes)]

    def map_parsers(self) -> list[str]:
        """Return the one media type that `cartsvc.api.body` takes."""
        return ["application/json"]

    def get_request_serializer(self) -> Any:
        return self.operation.body

    def get_response_serializers(self) -> None:
        """Leave out the answers, which no serializer makes; `_complete` describes them."""


# The views know nothing of the document.
CartServiceViewSet.schema = DeclaredSchema()


def _complete(result: Schema) -> Schema:
    result["info"] |= {
        "title": "Cart Service",
        "version": "2.0",
        "description": "Create Cart and Update Cart Item (v2.0, Beta), and what makes them usable.",
    }
    result["tags"] = [{"name": "Specified"}, {"name": "Extensions"}]
    result["paths"] = {wire_name(path): methods for path, methods in result["paths"].items()}
    by_id = {_operation_id(operation): operation for operation in OPERATIONS}
    for methods in result["paths"].values():
        for described in methods.values():
            operation = by_id[described["operationId"]]
            described["responses"] = _answers(operation)
            if operation.body:
                described["requestBody"]["content"]["application/json"] |= _body(operation)
            for parameter in described["parameters"]:
                if parameter["in"] == "path":
                    parameter["name"] = wire_name(parameter["name"])
                    parameter["schema"] = GUID
    components = result["components"]
    schemas = components["schemas"]
    cart, item = schemas["CreateCart"]["properties"], schemas["CartItem"]["properties"]
    cart["items"] |= {"type": ["array", "null"], "maxItems": settings.MAX_ITEMS}
    item["options"] |= {"type": ["array", "null"], "maxItems": settings.MAX_OPTIONS}
    for text in (cart["note"], cart["specialInstructions"], item["specialInstructions"]):
        text["pattern"] = f"^[^{PARAGRAPH_BREAKERS}]*$"
    schemas |= answer_schemas(schemas)
    components["securitySchemes"] = {
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "The scope Cart.Write opens every operation, Cart.Read those that read.",
        }
    }
    return result


def _operation_id(operation: Operation) -> str:
    first, *rest = operation.name.split()
    return first.lower() + "".join(rest)


def _body(operation: Operation) -> Schema:
    if operation.body is CreateCartSerializer:
        return {"example": FIRST_CART}
    name = "UpdateCartItem" if operation.specified else "CartItem"
    return {"schema": ref(name), "example": FIRST_CART["items"][0]}


def _answers(operation: Operation) -> Schema:
    data: Schema = {"not": {"required": ["data"]}}
    if operation.data:
        data = {"properties": {"data": ref(operation.data)}, "required": ["data"]}
    answers = {"200": _answer("Success", {"allOf": [ref("ApiResponse"), data]})}
    answers["200"]["headers"] |= {
        name: header for name, header in SUCCESS_HEADERS.items() if name in operation.gives
    }
    for status in sorted({*ALWAYS, *(problem.status for problem in operation.problems)}):
        answers[str(status)] = _answer(HTTPStatus(status).phrase, ref("ErrorResponse"))
        answers[str(status)]["headers"] |= ERROR_HEADERS.get(status, {})
    return answers


def _answer(description: str, schema: Schema) -> Schema:
    return {
        "description": description,
        "headers": dict(COMMON_HEADERS),
        "content": {"application/json": {"schema": schema}},
    }


class StringFieldSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = StringField

    def map_serializer_field(self, auto_schema: Any, direction: str) -> Schema:
        field = self.target
        if field.field_name == "currency":
            return {"type": "string", "enum": sorted(CURRENCIES)}
        if field.allow_null:
            # `complete` adds the pattern: the generator would make an alternative of it.
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
            "description": "At most four decimals.",
        }
