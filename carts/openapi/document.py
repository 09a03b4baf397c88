"""The OpenAPI document of the six operations, exact in types, limits and statuses.

The request bodies come from the serializers and so from the models' limits. What the
service answers is described here, next to a table of the operations.
"""

from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
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

from carts.fields import IntegerField, PriceField, TextField
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
from carts.serializers import CartItemSerializer, CreateCartSerializer
from carts.validators import CURRENCIES, LINE_BREAKERS, PARAGRAPH_BREAKERS
from carts.views import MAX_PAGE_SIZE, PAGE_SIZE, CartItemViewSet, CartViewSet
from cartsvc.api.permissions import PATH_NAMES


@dataclass(frozen=True)
class Operation:
    """What the document says of an operation beyond its serializer."""

    summary: str
    description: str
    data: str | None = None
    body: type | None = None
    specified: bool = False
    reads: bool = False
    headers: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()


BODY = (413, 415)
ALWAYS = (400, 401, 403, 429, 500, 503)

OPERATIONS = {
    (CartViewSet, "create"): Operation(
        "Create Cart",
        "Creates a cart for a customer profile, with items or without.",
        data="CartCreated",
        body=CreateCartSerializer,
        specified=True,
        headers=("Idempotency-Key",),
        answers=("Idempotent-Replayed",),
        errors=(409, 422, *BODY),
    ),
    (CartViewSet, "list"): Operation(
        "List Carts",
        "The profile's carts, newest first, in pages.",
        data="CartPage",
        reads=True,
    ),
    (CartViewSet, "retrieve"): Operation(
        "Get Cart",
        "The cart with its items as it is between two changes.",
        data="Cart",
        reads=True,
        answers=("ETag",),
        errors=(404,),
    ),
    (CartItemViewSet, "create"): Operation(
        "Add Item",
        "Adds an item behind the cart's last one.",
        data="ItemAdded",
        body=CartItemSerializer,
        headers=("Idempotency-Key", "If-Match"),
        answers=("Idempotent-Replayed",),
        errors=(404, 409, 412, 422, *BODY),
    ),
    (CartItemViewSet, "update"): Operation(
        "Update Item",
        "Replaces an item entirely, options included: what is not sent is not kept.",
        body=CartItemSerializer,
        specified=True,
        headers=("If-Match",),
        errors=(404, 412, *BODY),
    ),
    (CartItemViewSet, "destroy"): Operation(
        "Remove Item",
        "Removes an item and its options.",
        headers=("If-Match",),
        errors=(404, 412),
    ),
}

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
        return HttpResponse(_document(), content_type="application/json")


@cache
def _document() -> bytes:
    document = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return simplejson.dumps(document, use_decimal=True).encode()


class CartServiceSchema(AutoSchema):
    """Describe the operations of OPERATIONS; every other view is left out."""

    @property
    def operation(self) -> Operation:
        return OPERATIONS[self._key]

    @property
    def _key(self) -> tuple[Any, Any]:
        return type(self.view), getattr(self.view, "action", None)

    def is_excluded(self) -> bool:
        return self._key not in OPERATIONS

    def get_operation_id(self) -> str:
        return _operation_id(self.operation.summary)

    def get_summary(self) -> str:
        return self.operation.summary

    def get_description(self) -> str:  # type: ignore[override]
        origin = "" if self.operation.specified else "Extension to the specification. "
        return origin + self.operation.description

    def get_extensions(self) -> Schema:
        return {} if self.operation.specified else {"x-extension": True}

    def get_tags(self) -> list[str]:
        return ["Specified" if self.operation.specified else "Extensions"]

    def get_auth(self) -> list[dict[str, list[str]]]:
        scopes = ["Cart.Read", "Cart.Write"] if self.operation.reads else ["Cart.Write"]
        return [{"bearer": [scope]} for scope in scopes]

    def get_override_parameters(self) -> list[Any]:
        listed = PAGE_PARAMETERS if self.operation.data == "CartPage" else []
        return [*listed, *(HEADERS[name] for name in self.operation.headers)]

    def get_request_serializer(self) -> Any:
        return self.operation.body

    def get_response_serializers(self) -> None:
        """`complete` describes the answers, which no serializer makes."""


def complete(result: Schema, **_kwargs: Any) -> Schema:
    """Add to the generated document what the service answers (a postprocessing hook)."""
    result["paths"] = {_wire_path(path): methods for path, methods in result["paths"].items()}
    by_id = {_operation_id(operation.summary): operation for operation in OPERATIONS.values()}
    for methods in result["paths"].values():
        for described in methods.values():
            operation = by_id[described["operationId"]]
            described["responses"] = _answers(operation)
            if operation.body:
                described["requestBody"]["content"]["application/json"] |= _body(operation)
            for parameter in described["parameters"]:
                if parameter["in"] == "path":
                    parameter["name"] = PATH_NAMES[parameter["name"]]
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


def _operation_id(summary: str) -> str:
    first, *rest = summary.split()
    return first.lower() + "".join(rest)


def _body(operation: Operation) -> Schema:
    if operation.body is CreateCartSerializer:
        return {"example": FIRST_CART}
    name = "UpdateCartItem" if operation.specified else "CartItem"
    return {"schema": ref(name), "example": FIRST_CART["items"][0]}


def _wire_path(path: str) -> str:
    for name, wire_name in PATH_NAMES.items():
        path = path.replace(f"{{{name}}}", f"{{{wire_name}}}")
    return path


def _answers(operation: Operation) -> Schema:
    data: Schema = {"not": {"required": ["data"]}}
    if operation.data:
        data = {"properties": {"data": ref(operation.data)}, "required": ["data"]}
    answers = {"200": _answer("Success", {"allOf": [ref("ApiResponse"), data]})}
    answers["200"]["headers"] |= {
        name: header for name, header in SUCCESS_HEADERS.items() if name in operation.answers
    }
    for status in sorted({*ALWAYS, *operation.errors}):
        answers[str(status)] = _answer(HTTPStatus(status).phrase, ref("ErrorResponse"))
        answers[str(status)]["headers"] |= ERROR_HEADERS.get(status, {})
    return answers


def _answer(description: str, schema: Schema) -> Schema:
    return {
        "description": description,
        "headers": dict(COMMON_HEADERS),
        "content": {"application/json": {"schema": schema}},
    }


class TextFieldSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = TextField

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


class IntegerFieldSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = IntegerField

    def map_serializer_field(self, auto_schema: Any, direction: str) -> Schema:
        field = self.target
        return {
            "type": "integer",
            "format": "int32" if field.max_value < 2**31 else "int64",
            "minimum": field.min_value,
            "maximum": field.max_value,
        }


class PriceFieldSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = PriceField

    def map_serializer_field(self, auto_schema: Any, direction: str) -> Schema:
        return {
            "type": "number",
            "format": "double",
            "minimum": 0,
            "maximum": float(self.target.max_value),
            "description": "At most four decimals.",
        }
