"""The schemas of the OpenAPI document, so that every generator reads them alike."""

import re

import pytest

from carts.limits import CURRENCIES
from cartsvc.errors import REFUSALS
from tests.api.documented import OPERATIONS, Document, operation, ref, undescribed

DATA = {
    "createCart": "CartCreated",
    "listCarts": "CartPage",
    "getCart": "Cart",
    "addItem": "ItemAdded",
}
SENT = {"CreateCart", "CartItem", "UpdateCartItem", "CartItemOption"}

INT32 = {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}
INT64 = {"type": "integer", "format": "int64", "minimum": -(2**63), "maximum": 2**63 - 1}
PRICE = {"type": "number", "format": "double", "minimum": 0, "maximum": 9_999_999_999.9999}


def capitalised(name: str) -> str:
    return name[0].upper() + name[1:]


def test_each_operation_has_an_envelope_of_its_own_name(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert "ApiResponse" not in schemas
    for name in (*OPERATIONS, "error"):
        data = DATA.get(name)
        envelope = schemas[f"{capitalised(name)}Response"]
        members = ["message", "notifications"] + (["data"] if data else [])
        assert list(envelope["properties"]) == envelope["required"] == members
        assert envelope["properties"]["notifications"]["items"] == ref("Notification")
        assert "ApiResponse envelope" in envelope["description"]
        if data:
            assert undescribed(envelope["properties"]["data"]) == ref(data)
    for name in OPERATIONS:
        for status, answer in operation(document, name)["responses"].items():
            if status != "304":
                expected = f"{capitalised(name)}Response" if status == "200" else "ErrorResponse"
                assert answer["content"]["application/json"]["schema"] == ref(expected)


def test_the_one_notification(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["Severity"]["enum"] == ["Success", "Warning", "Error"]
    notification = schemas["Notification"]
    assert notification["required"] == ["severity", "text", "code", "additionalData"]
    members = {name: undescribed(schema) for name, schema in notification["properties"].items()}
    assert members == {
        "severity": ref("Severity"),
        "text": {"type": "string"},
        "code": {"type": ["string", "null"]},
        "additionalData": {"anyOf": [ref("NotificationData"), {"type": "null"}]},
    }
    told = notification["properties"]["code"]["description"]
    assert all(re.search(rf"\b{code}\b", told) for code in REFUSALS)


def test_a_currency_is_a_listed_one_when_sent_and_any_when_read(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["Currency"]["enum"] == sorted(CURRENCIES)
    for name, schema in schemas.items():
        if "currency" in schema.get("properties", {}):
            expected = ref("Currency") if name in SENT else {"type": "string"}
            assert undescribed(schema["properties"]["currency"]) == expected, name


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
    ("CartItem", "price"): PRICE,
    ("CartItemOption", "optionSetKey"): INT64,
    ("CartItemOption", "optionSetItemKey"): INT64,
    ("CartItemOption", "price"): PRICE,
}


def test_fields_types_and_limits(document: Document) -> None:
    schemas = document["components"]["schemas"]
    for name, required in REQUIRED.items():
        assert sorted(schemas[name]["required"]) == sorted(required.split())
    for (name, field), limit in MAX_LENGTHS.items():
        assert schemas[name]["properties"][field]["maxLength"] == limit
    for (name, field), schema in NUMBERS.items():
        assert undescribed(schemas[name]["properties"][field]) == schema
    assert schemas["CreateCart"]["properties"]["items"]["maxItems"] == 200
    assert schemas["CartItem"]["properties"]["options"]["maxItems"] == 100


def test_update_cart_item_is_a_model_with_the_fields_of_cart_item(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["UpdateCartItem"]["type"] == "object"
    assert undescribed(schemas["UpdateCartItem"]) == undescribed(schemas["CartItem"])
    body = operation(document, "updateItem")["requestBody"]["content"]["application/json"]
    assert body["schema"] == ref("UpdateCartItem")


@pytest.mark.parametrize("name", ["changeCart", "changeItem"])
def test_a_change_may_be_sent_as_a_merge_patch(document: Document, name: str) -> None:
    content = operation(document, name)["requestBody"]["content"]
    assert list(content) == ["application/json", "application/merge-patch+json"]
    assert content["application/json"] == content["application/merge-patch+json"]


def test_a_cursor_may_be_any_text(document: Document) -> None:
    page = document["components"]["schemas"]["CartPage"]["properties"]
    assert undescribed(page["nextCursor"]) == {"type": ["string", "null"]}
    parameters = {one["name"]: one for one in operation(document, "listCarts")["parameters"]}
    assert parameters["cursor"]["schema"] == {"type": "string"}
