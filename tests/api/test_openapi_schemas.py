"""The schemas of the OpenAPI document, so that every generator reads them alike."""

import re

import pytest

from carts.limits import CURRENCIES
from cartsvc.errors import REFUSALS
from tests.api.documented import OPERATIONS, Document, operation, ref, undescribed
from tests.support.fields import FIELDS, by_kind

DATA = {
    "createCart": "CartCreated",
    "listCarts": "CartPage",
    "getCart": "Cart",
    "addItem": "ItemAdded",
}
SENT = {"CreateCart", "CartItem", "UpdateCartItem", "CartItemOption"}

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


SCHEMAS = by_kind(
    line=lambda limit: {"type": "string", "minLength": 1, "maxLength": limit},
    paragraph=lambda limit: {"type": ["string", "null"], "maxLength": limit},
    integer=lambda lowest, highest: {
        "type": "integer",
        "format": "int32" if highest < 2**31 else "int64",
        "minimum": lowest,
        "maximum": highest,
    },
    currency=lambda: ref("Currency"),
    price=lambda: PRICE,
    list=lambda limit: {"type": ["array", "null"], "maxItems": limit},
)
OF_PARTS = {"cart": "CreateCart", "item": "CartItem", "option": "CartItemOption"}


@pytest.mark.parametrize("part", SCHEMAS)
def test_fields_types_and_limits(document: Document, part: str) -> None:
    schema = document["components"]["schemas"][OF_PARTS[part]]
    optional = {name for name, (kind, *_) in FIELDS[part].items() if kind in {"list", "paragraph"}}
    assert set(schema["required"]) == FIELDS[part].keys() - optional
    assert schema["properties"].keys() == FIELDS[part].keys()
    for name, expected in SCHEMAS[part].items():
        found = schema["properties"][name]
        assert found | expected == found


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
