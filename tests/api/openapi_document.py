"""The served OpenAPI document, and how to walk it."""

from typing import Any

from django.test import Client

from tests.support.operations import REQUESTS, Request

Document = dict[str, Any]


def id_of(name: str) -> str:
    """Return the operationId of an operation with this name."""
    return name[0].lower() + name[1:].replace(" ", "")


OPERATIONS: dict[str, Request] = {id_of(name): one for name, one in REQUESTS.items()}


def served() -> Document:
    # A host that is allowed while tests are collected, too.
    return Client(SERVER_NAME="localhost").get("/v2.0/openapi.json").json()


def operation(document: Document, name: str) -> Document:
    request = OPERATIONS[name]
    return document["paths"][request.path][request.method.lower()]


def ref(name: str) -> Document:
    return {"$ref": f"#/components/schemas/{name}"}


def undescribed(schema: Document) -> Document:
    return {name: value for name, value in schema.items() if name != "description"}
