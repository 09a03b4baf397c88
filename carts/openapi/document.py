"""The OpenAPI document: document.yaml, completed with the operations that the views declare.

A new operation needs nothing here: its declaration says all that the document does.
"""

import inspect
import json
from functools import cache
from http import HTTPStatus
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import yaml
from django.http import HttpResponse
from drf_spectacular.generators import EndpointEnumerator, SchemaGenerator
from rest_framework.request import Request
from rest_framework.views import APIView

from carts.models.change_feed import LOOKED_THROUGH, SETTLING_SECONDS
from carts.models.idempotency import KEPT_HOURS, KEY_MAX_LENGTH
from carts.models.manager import MAX_RETURNED, MAX_RETURNED_BYTES
from carts.openapi.error_examples import example_errors
from carts.openapi.example_cart import JsonDict, example_cart, example_of
from carts.openapi.schemas import (
    GUID_PATTERN,
    add_schemas,
    body_name,
    envelope_name,
    reference_to,
)
from carts.operation_view import OperationView
from carts.records import CHECKOUT_SECONDS, REFERENCE
from carts.views import MAX_PAGE_SIZE
from cartsvc.api.envelope import failure_text, success
from cartsvc.api.operation import OPERATIONS, Operation
from cartsvc.member_names import camel_case
from cartsvc.request_errors import API_ERRORS

# Headers of answers with these statuses. Every answer has an X-Request-ID.
HEADERS_OF_STATUS = {
    **dict.fromkeys((401, 403), ("WWW-Authenticate",)),  # of a 403, if a scope is missing
    **dict.fromkeys((304, 412), ("ETag",)),
    **dict.fromkeys((429, 503), ("Retry-After",)),
}


class DocumentView(APIView):
    http_method_names = ["get", "head"]

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Check nothing: it is open to everyone, whatever they accept."""

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(DocumentGenerator.json_text(), content_type="application/json")


class DocumentGenerator(SchemaGenerator):
    """The document while it is built: for its view, and for `manage.py spectacular`."""

    @staticmethod
    @cache
    def json_text() -> str:
        return json.dumps(DocumentGenerator().get_schema())  # type: ignore[no-untyped-call]

    def get_schema(self, *args: object, **kwargs: object) -> JsonDict:
        document, paths, tags = load_document(), JsonDict(), JsonDict()
        components = document["components"]
        # Generators want these where they are used.
        self.parameters, self.headers = components.pop("parameters"), components.pop("headers")
        self.schemas = components["schemas"]
        add_schemas(self.schemas)
        self.examples = components["examples"] = JsonDict()
        endpoints = [
            (getattr(view.cls, view.actions[method.lower()]).operation, path, method, view.cls)
            for path, _, method, view in EndpointEnumerator().get_api_endpoints()  # type: ignore[no-untyped-call]
            # The document's own view and its page are no operations.
            if issubclass(view.cls, OperationView)
        ]
        # As they are declared, a customer's first: without Create Cart there is nothing to try.
        endpoints.sort(key=lambda one: ("profile_key" not in one[1], OPERATIONS.index(one[0])))
        for operation, snake_case, method, view in endpoints:
            path, tag = camel_case(snake_case), view.tag
            described = self._operation(operation, path)
            if method == "GET":
                described["description"] += " HEAD returns the headers alone."
            paths.setdefault(path, {})[method.lower()] = described | {"tags": [tag]}
            tags[tag] = {"name": tag, "description": inspect.getdoc(view)}
        return {**document, "tags": [tags[name] for name in sorted(tags)], "paths": paths}

    def _operation(self, declared: Operation, path: str) -> JsonDict:
        queried = declared.query_parameters
        defaults = {name: {"default": one.default} for name, one in queried.items() if one.default}
        origin = "Beta." if declared.specified else "Extension to the specification."
        text = f"{origin} {declared.description}"
        if queried or getattr(declared.body, "refuses_unknown", False):
            text += f" A {'member' if declared.body else 'parameter'} of another name is an error."
        together = [declared.scopes] if declared.needs_all_scopes else zip(declared.scopes)
        described: JsonDict = {
            "operationId": camel_case(declared.name.lower().replace(" ", "_")),
            "summary": declared.name,
            "description": text,
            "x-beta" if declared.specified else "x-extension": True,
            "security": [{"bearer": [*one]} for one in together],
            "parameters": [
                {"name": name, **parameter, "schema": parameter["schema"] | defaults.get(name, {})}
                for name, parameter in self.parameters.items()
                if f"{{{name}}}" in path or name in (*queried, *declared.request_headers)
            ],
            "responses": self._answers(declared, path),
        }
        if declared.body:
            name = body_name(declared.body)
            example = example_of(self.schemas[name])
            content = {"schema": reference_to("schemas", name), "example": example}
            kinds = dict.fromkeys(declared.media_types, content)
            described["requestBody"] = {"content": kinds, "required": not declared.body_is_optional}
        return described

    def _answers(self, operation: Operation, path: str) -> JsonDict:
        data = json.dumps(example_of(self.schemas[operation.data])) if operation.data else None
        done = {"success": {"value": json.loads(success(operation.message, data).content)}}
        headers = operation.response_headers
        applied = {"Preference-Applied"}.intersection(headers)  # of refusals, too
        answers = {"200": self._answer(200, envelope_name(operation), done, *headers)}
        if "If-None-Match" in operation.request_headers:
            text = "The cart is still the one that If-None-Match names."
            answers["304"] = {"description": text, "headers": self._headers(304)}
        by_status = attrgetter("status")
        every = sorted(example_errors(operation, path), key=by_status)
        for status, errors in groupby(every, by_status):
            shown = {}
            for error in errors:
                answer = json.loads(failure_text([error]))
                self.examples[error.code] = {"summary": error.meaning, "value": answer}
                shown[error.code] = reference_to("examples", error.code)
            answers[str(status)] = self._answer(status, "ErrorResponse", shown, *applied)
        return answers

    def _answer(self, status: int, name: str, examples: JsonDict, *more: str) -> JsonDict:
        schema = reference_to("schemas", name)
        return {
            "description": f"{HTTPStatus(status).phrase}.",
            "headers": self._headers(status, *more),
            "content": {"application/json": {"schema": schema, "examples": examples}},
        }

    def _headers(self, status: int, *more: str) -> JsonDict:
        names = ("X-Request-ID", *HEADERS_OF_STATUS.get(status, ()), *more)
        return {name: self.headers[name] for name in names}


def load_document() -> JsonDict:
    """Return document.yaml, with the values that its names in brackets stand for."""
    values = {
        **example_cart()["keys"],
        "max_page_size": MAX_PAGE_SIZE,
        "changes_page_size": LOOKED_THROUGH,
        "settling": SETTLING_SECONDS,
        "kept_hours": KEPT_HOURS,
        "max_returned": MAX_RETURNED,
        "max_returned_kib": MAX_RETURNED_BYTES // 1024,
        "checkout_seconds": CHECKOUT_SECONDS,
        "reference_max_length": REFERENCE.max_length,
        "key_max_length": KEY_MAX_LENGTH,
        "guid_pattern": GUID_PATTERN,
        "wide_key": "JavaScript's JSON.parse rounds it above 2^53: use a parser that does not.",
        "all_codes": ", ".join(sorted(API_ERRORS)),
    }
    text = Path(__file__).with_name("document.yaml").read_text("utf-8")
    document: JsonDict = yaml.safe_load(text % values)
    return document
