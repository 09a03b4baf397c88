"""The OpenAPI document: document.yaml, completed with the operations that the views declare.

A new operation needs nothing here: its declaration says all that the document does.
"""

import inspect
import json
import re
from functools import cache
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import EndpointEnumerator, SchemaGenerator
from rest_framework.request import Request

from carts.openapi.examples import error_shown, errors_shown, example, samples
from carts.openapi.schemas import Schema, complete, envelope_name, ref, schema_name, skeleton
from cartsvc.api.envelope import failure_text, success
from cartsvc.api.json_view import JsonView
from cartsvc.api.operation import Operation, operation_at
from cartsvc.camel_case import camel_case
from cartsvc.request_errors import ApiError

# Headers of every answer, of some statuses, and those that are not always sent.
OF_ANY = ("X-Request-ID", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
OF_STATUSES = {
    **dict.fromkeys([401, 403], ("WWW-Authenticate",)),
    412: ("ETag",),
    **dict.fromkeys([429, 503], ("Retry-After",)),
}
SOMETIMES = {*OF_ANY[1:], "Idempotent-Replayed", "Preference-Applied"}


class DocumentView(JsonView):
    """The document itself, open to everyone and built once."""

    http_method_names = ["get", "head"]
    authentication_classes = ()
    permission_classes = ()
    schema = None

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(_text(), content_type="application/json")


@cache
def _text() -> str:
    return json.dumps(DocumentGenerator().get_schema())


class DocumentGenerator(SchemaGenerator):
    """The document while it is built: for its view, and for `manage.py spectacular`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self.whole = skeleton()
        components = self.whole["components"]
        # Generators want these where they are used.
        self.parameters, self.headers = components.pop("parameters"), components.pop("headers")
        self.schemas = components["schemas"]
        complete(self.schemas)

    def get_schema(self, *args: Any, **kwargs: Any) -> Schema:
        paths: Schema = {}
        tags: Schema = {}
        for snake_case, _, method, view in EndpointEnumerator().get_api_endpoints():  # type: ignore[no-untyped-call]
            if operation := operation_at(view, method):
                path, tag = camel_case(snake_case), view.cls.tag
                described = self._operation(operation, path, method)
                paths.setdefault(path, {})[method.lower()] = described | {"tags": [tag]}
                tags[tag] = {"name": tag, "description": inspect.getdoc(view.cls)}
        return {**self.whole, "tags": list(tags.values()), "paths": paths}

    def _operation(self, declared: Operation, path: str, method: str) -> Schema:
        origin = "Beta." if declared.specified else "Extension to the specification."
        head = " HEAD answers with the same status and headers, and no body."
        sent = example(schema_name(type(declared.body)), self.schemas) if declared.body else {}
        described: Schema = {
            "operationId": camel_case(declared.name.lower().replace(" ", "_")),
            "summary": declared.name,
            "description": f"{origin} {declared.description}" + (head if method == "GET" else ""),
            "x-beta" if declared.specified else "x-extension": True,
            "security": [{"bearer": [scope]} for scope in declared.scopes],
            "parameters": [
                *(self._parameter("path", name) for name in re.findall(r"\{(\w+)\}", path)),
                *(self._parameter("query", name) for name in declared.query),
                *(self._parameter("header", name) for name in declared.takes),
            ],
            "responses": self._answers(declared, sent),
        }
        if declared.body:
            content = {"schema": ref(schema_name(type(declared.body))), "example": sent}
            kinds = dict.fromkeys(declared.media_types, content)
            described["requestBody"] = {"content": kinds, "required": True}
        return described

    def _parameter(self, place: str, name: str) -> Schema:
        parameter = {"name": name, "in": place, **self.parameters[name]}
        # Pages that try an operation send what an optional one has for an example.
        shown = {"example": samples()["keys"][name]} if place == "path" else {}
        return {**parameter, "required": place == "path", **shown}

    def _answers(self, operation: Operation, sent: Schema) -> Schema:
        data = json.dumps(example(operation.data, self.schemas)) if operation.data else None
        value = json.loads(success(operation.message, data).content)
        done = {"success": {"summary": "The operation is done.", "value": value}}
        if sent:
            warning = error_shown("unknown_member", operation, sent)
            value = json.loads(success(operation.message, data, [warning]).content)
            done[warning.code] = {"summary": warning.meaning, "value": value}
        # A replay is answered without asking for the cart's version.
        sometimes = ("ETag",) if "Idempotent-Replayed" in operation.gives else ()
        headers = self._headers(*operation.gives, sometimes=sometimes)
        content = _content(envelope_name(operation), done)
        answers = {"200": {"description": "Success", "headers": headers, "content": content}}
        if "If-None-Match" in operation.takes:
            unchanged = "The cart is still the one that If-None-Match names. There is no body."
            answers["304"] = {"description": unchanged, "headers": self._headers("ETag")}
        errors = errors_shown(operation, sent)
        for status in sorted({error.status for error in errors}):
            same = [error for error in errors if error.status == status]
            answers[str(status)] = self._refusal(HTTPStatus(status), same)
        return answers

    def _refusal(self, status: HTTPStatus, same: list[ApiError]) -> Schema:
        meanings = [error.meaning for error in same]
        if status == HTTPStatus.BAD_REQUEST:  # too many to name
            meanings = ["The request fails validation."]
        examples_of = {
            error.code: {"summary": error.meaning, "value": json.loads(failure_text([error]))}
            for error in same
        }
        headers = OF_STATUSES.get(status, ())
        # 403 has a challenge for the scope only.
        sometimes = headers if status == HTTPStatus.FORBIDDEN else ()
        return {
            "description": " ".join([f"{status.phrase}.", *meanings]),
            "headers": self._headers(*headers, sometimes=sometimes),
            "content": _content("ErrorResponse", examples_of),
        }

    def _headers(self, *names: str, sometimes: tuple[str, ...] = ()) -> Schema:
        always = {*OF_ANY, *names} - SOMETIMES - {*sometimes}
        return {
            name: {**self.headers[name], "required": name in always} for name in (*OF_ANY, *names)
        }


def _content(name: str, named: Schema) -> Schema:
    return {"application/json": {"schema": ref(name), "examples": named}}
