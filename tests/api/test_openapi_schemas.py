"""The schemas of the OpenAPI document, so that every generator reads them alike."""

import re

import pytest

from carts.limits import CURRENCIES
from cartsvc.errors import REFUSALS
from tests.api.documented import (
    OPERATIONS,
    Document,
    nodes,
    operation,
    ref,
    served,
    undescribed,
    upper,
)

DATA = {
    "createCart": "CartCreated",
    "listCarts": "CartPage",
    "getCart": "Cart",
    "addItem": "ItemAdded",
    "updateItem": None,
    "removeItem": None,
}
SENT = {"CreateCart", "CartItem", "UpdateCartItem", "CartItemOption"}

INT32 = {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}
INT64 = {"type": "integer", "format": "int64", "minimum": -(2**63), "maximum": 2**63 - 1}
PRICE = {"type": "number", "format": "double", "minimum": 0, "maximum": 9_999_999_999.9999}


@pytest.fixture(scope="module")
def document() -> Document:
    return served()


def test_every_object_has_a_name(document: Document) -> None:
    for place, schema in nodes(document):
        if schema.get("type") == "object" or "properties" in schema or "allOf" in schema:
            assert re.fullmatch(r"/components/schemas/\w+(/properties)?", place), place


def test_null_is_never_all_that_a_member_may_be(document: Document) -> None:
    for place, schema in nodes(document):
        if schema == {"type": "null"}:
            assert place.endswith("/anyOf/1"), place
        assert "not" not in schema, place
        if "anyOf" in schema:
            assert [set(option) for option in schema["anyOf"]] == [{"$ref"}, {"type"}], place
        if isinstance(schema.get("type"), list):
            assert "object" not in schema["type"], place


def test_each_operation_has_an_envelope_of_its_own_name(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert "ApiResponse" not in schemas
    for name, data in {**DATA, "error": None}.items():
        envelope = schemas[f"{upper(name)}Response"]
        members = ["message", "notifications"] + (["data"] if data else [])
        assert list(envelope["properties"]) == envelope["required"] == members
        assert envelope["properties"]["notifications"]["items"] == ref("Notification")
        assert "ApiResponse envelope" in envelope["description"]
        if data:
            assert undescribed(envelope["properties"]["data"]) == ref(data)
    for name in OPERATIONS:
        for status, answer in operation(document, name)["responses"].items():
            if status != "304":
                expected = f"{upper(name)}Response" if status == "200" else "ErrorResponse"
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


def test_money_is_a_double_and_integers_say_their_size(document: Document) -> None:
    for place, schema in nodes(document):
        if schema.get("type") == "number":
            assert schema["format"] == "double", place
        if schema.get("type") == "integer":
            assert schema["format"] in {"int32", "int64"}, place
            assert schema["minimum"] <= 1, place
            assert schema["maximum"] <= 2 ** (int(schema["format"][3:]) - 1) - 1, place


def test_the_lists_of_answers_say_how_long_they_may_be(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["CartPage"]["properties"]["carts"]["maxItems"] == 100
    for name in OPERATIONS:
        told = schemas[f"{upper(name)}Response"]["properties"]["notifications"]
        assert (told["minItems"], told["maxItems"]) == (1, 1 + 10)


def test_keys_of_64_bits_warn_of_javascript(document: Document) -> None:
    for place, schema in nodes(document):
        if schema.get("format") == "int64" and not place.endswith("/version"):
            assert "2⁵³" in schema["description"], place


def test_options_that_are_read_are_never_null(document: Document) -> None:
    item = document["components"]["schemas"]["CartItemRead"]
    assert undescribed(item["properties"]["options"]) == {
        "type": "array",
        "items": ref("CartItemOptionRead"),
    }
    assert "options" in item["required"]


def test_a_cursor_may_be_any_text(document: Document) -> None:
    page = document["components"]["schemas"]["CartPage"]["properties"]
    assert undescribed(page["nextCursor"]) == {"type": ["string", "null"]}
    parameters = {one["name"]: one for one in operation(document, "listCarts")["parameters"]}
    assert parameters["cursor"]["schema"] == {"type": "string"}


def test_every_schema_and_property_is_described(document: Document) -> None:
    for name, schema in document["components"]["schemas"].items():
        assert schema["description"], name
        for member, described in schema.get("properties", {}).items():
            assert described["description"].endswith("."), (name, member)


# The meaning of each field, as the specification has it.
MEANINGS = {
    "CreateCart": {
        "partnerKey": "The partner key assigned to the caller.",
        "restaurantKey": "The restaurant that the order is placed against.",
        "items": "Items, with their selected options, added at creation. May be omitted or empty.",
        "platform": "Identifier of the platform the order is placed from.",
        "orderingChannel": "Ordering channel for the order. The value is taken from the menu.",
        "fulfilmentChannel": "Fulfilment channel for the order. The value is taken from the menu.",
        "currency": (
            "ISO 4217 currency code that applies to the items, totals, fees and tip of the order."
        ),
        "note": (
            "Note submitted with the order. It may appear on the customer's point-of-sale invoice."
        ),
        "specialInstructions": (
            "Instructions submitted with the order. They usually print only in the restaurant "
            "kitchen."
        ),
    },
    "CartItem": {
        "menuKey": "Key of the menu the item is from.",
        "menuVersion": "Version of that menu.",
        "menuItemKey": "Key of the menu item.",
        "displayName": "Display name of the item.",
        "currency": "ISO 4217 currency code for the item.",
        "price": "Menu price of the item, excluding the price of selected options.",
        "quantity": "Quantity of the item and its selected options to order.",
        "options": "Options the customer selected for the item.",
        "specialInstructions": (
            "Instructions for the item. They print in the restaurant kitchen. The value may be "
            "null."
        ),
    },
    "CartItemOption": {
        "optionSetKey": "The option set that the option is from.",
        "optionSetItemKey": "Key of the option.",
        "displayName": "Display name of the selected option.",
        "currency": "ISO 4217 currency code for the option.",
        "price": "Price of the selected option.",
    },
}


def test_what_is_sent_is_described_in_the_words_of_the_specification(document: Document) -> None:
    schemas = document["components"]["schemas"]
    for name, meanings in {**MEANINGS, "UpdateCartItem": MEANINGS["CartItem"]}.items():
        assert schemas[name]["properties"].keys() == meanings.keys()
        for member, meaning in meanings.items():
            said = schemas[name]["properties"][member]["description"]
            assert meaning.removesuffix(" The value may be null.").removesuffix(".") in said
