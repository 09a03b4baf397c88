"""The OpenAPI document says what the specification says."""

from contextlib import closing
from typing import Any

import pytest
from django.test import Client

from tests.support.callers import Api

CARTS = "/v2.0/customers/{profileKey}/carts"
OPERATIONS = {
    "createCart": ("post", CARTS, True),
    "listCarts": ("get", CARTS, False),
    "getCart": ("get", f"{CARTS}/{{cartId}}", False),
    "addItem": ("post", f"{CARTS}/{{cartId}}/items", False),
    "updateItem": ("put", f"{CARTS}/{{cartId}}/items/{{itemId}}", True),
    "removeItem": ("delete", f"{CARTS}/{{cartId}}/items/{{itemId}}", False),
}

INT32 = {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}
INT64 = {"type": "integer", "format": "int64", "minimum": -(2**63), "maximum": 2**63 - 1}


@pytest.fixture
def document() -> dict[str, Any]:
    return Client().get("/v2.0/openapi.json").json()


def test_six_operations_and_no_more(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    found = {
        operation["operationId"]: (method, path, "x-extension" not in operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert found == OPERATIONS


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        ("createCart", "200 400 401 403 409 413 415 422 429 500 503"),
        ("listCarts", "200 400 401 403 429 500 503"),
        ("getCart", "200 400 401 403 404 429 500 503"),
        ("addItem", "200 400 401 403 404 409 412 413 415 422 429 500 503"),
        ("updateItem", "200 400 401 403 404 412 413 415 429 500 503"),
        ("removeItem", "200 400 401 403 404 412 429 500 503"),
    ],
)
def test_every_status_of_an_operation(name: str, statuses: str, document: dict[str, Any]) -> None:
    method, path, _ = OPERATIONS[name]
    assert " ".join(document["paths"][path][method]["responses"]) == statuses


REQUIRED = {
    "CreateCart": "partnerKey restaurantKey platform orderingChannel fulfilmentChannel currency",
    "CartItem": "menuKey menuVersion menuItemKey displayName currency price quantity",
    "CartItemOption": "optionSetKey optionSetItemKey displayName currency price",
}
MAX_LENGTHS = {
    ("CreateCart", "partnerKey"): 4,
    ("CreateCart", "platform"): 50,
    ("CreateCart", "orderingChannel"): 50,
    ("CreateCart", "fulfilmentChannel"): 50,
    ("CreateCart", "note"): 300,
    ("CreateCart", "specialInstructions"): 300,
    ("CartItem", "menuKey"): 20,
    ("CartItem", "displayName"): 100,
    ("CartItem", "specialInstructions"): 300,
    ("CartItemOption", "displayName"): 100,
}
NUMBERS = {
    ("CreateCart", "restaurantKey"): INT32,
    ("CartItem", "menuVersion"): INT32,
    ("CartItem", "menuItemKey"): INT64,
    ("CartItem", "quantity"): {**INT32, "minimum": 1, "maximum": 9999},
    ("CartItemOption", "optionSetKey"): INT64,
    ("CartItemOption", "optionSetItemKey"): INT64,
}


def test_fields_types_and_limits(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["UpdateCartItem"] == {"$ref": "#/components/schemas/CartItem"}
    for name, required in REQUIRED.items():
        assert sorted(schemas[name]["required"]) == sorted(required.split())
    for (name, field), limit in MAX_LENGTHS.items():
        assert schemas[name]["properties"][field]["maxLength"] == limit
    for (name, field), schema in NUMBERS.items():
        assert schemas[name]["properties"][field] == schema
    for name in REQUIRED:
        currencies = schemas[name]["properties"]["currency"]["enum"]
        assert "EUR" in currencies
        assert all(len(code) == 3 for code in currencies)
    assert schemas["CreateCart"]["properties"]["items"]["maxItems"] == 500
    assert schemas["CartItem"]["properties"]["options"]["maxItems"] == 100


def test_update_item_has_no_data(document: dict[str, Any]) -> None:
    for name in ("updateItem", "removeItem"):
        method, path, _ = OPERATIONS[name]
        success = document["paths"][path][method]["responses"]["200"]
        assert {"not": {"required": ["data"]}} in success["content"]["application/json"]["schema"][
            "allOf"
        ]


def test_examples_are_accepted(document: dict[str, Any], api: Api) -> None:
    def example(name: str) -> Any:
        method, path, _ = OPERATIONS[name]
        operation = document["paths"][path][method]
        return operation["requestBody"]["content"]["application/json"]["example"]

    created = api.post(body=example("createCart"))
    assert created.status_code == 200
    cart_id = created.json()["data"]["cartId"]
    added = api.post(f"/{cart_id}/items", example("addItem"))
    assert added.status_code == 200
    item_id = added.json()["data"]["itemId"]
    assert api.put(f"/{cart_id}/items/{item_id}", example("updateItem")).status_code == 200


def test_docs_page_brings_its_own_files(client: Client, db: None) -> None:
    page = client.get("/docs").content.decode()
    sources = [part.split('"')[0] for part in page.split('src="')[1:]]
    assert sources
    assert all(source.startswith("/") for source in sources)
    for source in sources:
        with closing(client.get(source)) as answer:
            assert answer.status_code == 200
