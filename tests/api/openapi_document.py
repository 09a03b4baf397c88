"""The served OpenAPI document, and how to walk it."""

from typing import Any

from django.test import Client

CARTS = "/v2.0/customers/{profileKey}/carts"
OPERATIONS = {
    "createCart": ("post", CARTS, True),
    "listCarts": ("get", CARTS, False),
    "getCart": ("get", f"{CARTS}/{{cartId}}", False),
    "changeCart": ("patch", f"{CARTS}/{{cartId}}", False),
    "deleteCart": ("delete", f"{CARTS}/{{cartId}}", False),
    "addItem": ("post", f"{CARTS}/{{cartId}}/items", False),
    "updateItem": ("put", f"{CARTS}/{{cartId}}/items/{{itemId}}", True),
    "changeItem": ("patch", f"{CARTS}/{{cartId}}/items/{{itemId}}", False),
    "removeItem": ("delete", f"{CARTS}/{{cartId}}/items/{{itemId}}", False),
    "addItems": ("post", f"{CARTS}/{{cartId}}/items/batch", False),
    "replaceItems": ("put", f"{CARTS}/{{cartId}}/items", False),
    "closeCart": ("post", f"{CARTS}/{{cartId}}/close", False),
    "reopenCart": ("post", f"{CARTS}/{{cartId}}/reopen", False),
    "moveCart": ("post", f"{CARTS}/{{cartId}}/move", False),
    "listChanges": ("get", "/v2.0/changes", False),
}

Document = dict[str, Any]


def served() -> Document:
    # A host that is allowed while tests are collected, too.
    return Client(SERVER_NAME="localhost").get("/v2.0/openapi.json").json()


def operation(document: Document, name: str) -> Document:
    method, path, _ = OPERATIONS[name]
    return document["paths"][path][method]


def ref(name: str) -> Document:
    return {"$ref": f"#/components/schemas/{name}"}


def undescribed(schema: Document) -> Document:
    return {name: value for name, value in schema.items() if name != "description"}
