"""The OpenAPI document: document.yaml, completed with the operations that the views declare.

A new operation needs nothing here: its declaration says all that the document does.
"""

import inspect
import json
from functools import cache
from http import HTTPStatus
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import EndpointEnumerator, SchemaGenerator
from rest_framework.request import Request
from rest_framework.views import APIView

from carts.openapi.examples import errors_shown, example
from carts.openapi.schemas import Schema, complete, envelope_name, ref, schema_name, skeleton
from carts.operation_view import OperationView
from cartsvc.api.envelope import failure_text, success
from cartsvc.api.operation import Operation
from cartsvc.member_names import camel_case

# Headers of every answer, and of answers with these statuses.
OF_ANY = ("X-Request-ID", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
OF_STATUS = {
    **dict.fromkeys((401, 403), ("WWW-Authenticate",)),  # of a 403, if a scope is missing
    **dict.fromkeys((304, 412), ("ETag",)),
    **dict.fromkeys((429, 503), ("Retry-After",)),
}


class DocumentView(APIView):
    """The document itself, built once."""

    http_method_names = ["get", "head"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check nothing: it is open to everyone, whatever they accept."""

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(DocumentGenerator.text(), content_type="application/json")


class DocumentGenerator(SchemaGenerator):
    """The document while it is built: for its view, and for `manage.py spectacular`."""

    @staticmethod
    @cache
    def text() -> str:
        return json.dumps(DocumentGenerator().get_schema())  # type: ignore[no-untyped-call]

    def get_schema(self, *args: Any, **kwargs: Any) -> Schema:
        document, paths, tags = skeleton(), Schema(), Schema()
        components = document["components"]
        # Generators want these where they are used.
        self.parameters, self.headers = components.pop("parameters"), components.pop("headers")
        self.schemas = components["schemas"]
        complete(self.schemas)
        for snake_case, _, method, view in EndpointEnumerator().get_api_endpoints():  # type: ignore[no-untyped-call]
            # The document's own view and its page are no operations.
            if issubclass(view.cls, OperationView):
                operation = getattr(view.cls, view.actions[method.lower()]).operation
                path, tag = camel_case(snake_case), view.cls.tag
                described = self._operation(operation, path)
                paths.setdefault(path, {})[method.lower()] = described | {"tags": [tag]}
                tags[tag] = {"name": tag, "description": inspect.getdoc(view.cls)}
        return {**document, "tags": list(tags.values()), "paths": paths}

    def _operation(self, declared: Operation, path: str) -> Schema:
        origin = "Beta." if declared.specified else "Extension to the specification."
        described: Schema = {
            "operationId": camel_case(declared.name.lower().replace(" ", "_")),
            "summary": declared.name,
            "description": f"{origin} {declared.description}",
            "x-beta" if declared.specified else "x-extension": True,
            "security": [{"bearer": [scope]} for scope in declared.scopes],
            "parameters": [
                {"name": name, **parameter}
                for name, parameter in self.parameters.items()
                if f"{{{name}}}" in path or name in (*declared.query, *declared.request_headers)
            ],
            "responses": self._answers(declared),
        }
        if declared.body:
            name = schema_name(declared.body)
            content = {"schema": ref(name), "example": example(self.schemas[name])}
            kinds = dict.fromkeys(declared.media_types, content)
            described["requestBody"] = {"content": kinds, "required": True}
        return described

    def _answers(self, operation: Operation) -> Schema:
        data = json.dumps(example(self.schemas[operation.data])) if operation.data else None
        done = {"success": {"value": json.loads(success(operation.message, data).content)}}
        headers = operation.response_headers
        answers = {"200": self._answer(200, envelope_name(operation), done, *headers)}
        if "If-None-Match" in operation.request_headers:
            text = "The cart is still the one that If-None-Match names."
            answers["304"] = {"description": text, "headers": self._headers(304)}
        errors = sorted(errors_shown(operation), key=attrgetter("status"))
        for status, same in groupby(errors, attrgetter("status")):
            shown = {
                error.code: {"summary": error.meaning, "value": json.loads(failure_text([error]))}
                for error in same
            }
            answers[str(status)] = self._answer(status, "ErrorResponse", shown)
        return answers

    def _answer(self, status: int, name: str, examples: Schema, *own: str) -> Schema:
        return {
            "description": f"{HTTPStatus(status).phrase}.",
            "headers": self._headers(status, *own),
            "content": {"application/json": {"schema": ref(name), "examples": examples}},
        }

    def _headers(self, status: int, *own: str) -> Schema:
        names = (*OF_ANY, *OF_STATUS.get(status, ()), *own)
        return {name: self.headers[name] for name in names}
