"""The OpenAPI document says what the specification says, so that every generator reads it alike."""

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import chain

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from carts.openapi.document import DocumentGenerator, load_document
from carts.openapi.example_cart import example_of
from carts.value_types import Line, Paragraph, Text
from cartsvc.request_errors import API_ERRORS, ApiError
from tests.api.openapi_document import OPERATIONS, Document, operation, ref, undescribed
from tests.support.callers import PROFILE, Api
from tests.support.fields import FIELDS, OPTIONAL, by_kind
from tests.support.operations import NARROWING


def test_the_operations_two_of_them_specified(document: Document) -> None:
    assert document["openapi"].startswith("3.1")
    found = {
        described["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    }
    assert found == {name: (one.method, one.path) for name, one in OPERATIONS.items()}
    assert next(iter(found)) == "createCart"  # whoever tries them begins with it
    described = {name: operation(document, name) for name in OPERATIONS}
    assert {name: "HEAD" in one["description"] for name, one in described.items()} == {
        name: one.method == "GET" for name, one in OPERATIONS.items()
    }
    assert [name for name, one in described.items() if "x-beta" in one] == [
        "createCart",
        "updateItem",
    ]
    for one in described.values():
        assert ("x-extension" in one) != one.get("x-beta", False)
        origin = "Beta. " if "x-beta" in one else "Extension to the specification. "
        assert one["description"].startswith(origin)


# What every operation may answer, every one below a customer, and every one that takes a body.
USUAL = {200, 401, 403, 429, 500, 503}
OF_A_KEY, OF_A_BODY = {400}, {400, 413, 415}


@pytest.mark.parametrize("name", OPERATIONS)
def test_answers_of_an_operation(name: str, document: Document) -> None:
    declared = OPERATIONS[name].operation
    statuses = USUAL | {error.status for error in declared.errors}
    statuses |= OF_A_BODY if declared.body else set()
    statuses |= OF_A_KEY if "{profileKey}" in OPERATIONS[name].path else set()
    described = operation(document, name)
    taken = {parameter["name"] for parameter in described["parameters"]}
    answers = {**described["responses"]}
    assert ("304" in answers) == ("If-None-Match" in taken)
    unmodified = answers.pop("304", {"headers": {"ETag"}})
    assert "content" not in unmodified
    assert "ETag" in unmodified["headers"]
    assert list(answers) == sorted(map(str, statuses))
    for status, answer in answers.items():
        headers = answer["headers"]
        assert "X-Request-ID" in headers
        assert ("Retry-After" in headers) == (status in {"429", "503"})
        assert ("WWW-Authenticate" in headers) == (status in {"401", "403"})
        assert ("ETag" in headers) or status != "412"
        assert ("Preference-Applied" in headers) == ("Prefer" in taken)
    success = answers["200"]["headers"]
    assert ("Idempotent-Replayed" in success) == ("Idempotency-Key" in taken)


def test_a_member_that_is_not_described_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    described = load_document()
    del described["components"]["schemas"]["Cart"]["properties"]["note"]
    monkeypatch.setattr("carts.openapi.document.load_document", lambda: described)
    with pytest.raises(ImproperlyConfigured, match=r"Cart in .+ does not describe note\."):
        DocumentGenerator().get_schema()


def test_an_object_without_an_example_is_named() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"No object .+ has all of a, b\."):
        example_of({"properties": {"a": {}, "b": {}}, "required": ["a", "b"]})


def test_what_is_refused_without_a_look_at_the_cart_is_no_valid_request(document: Document) -> None:
    items = document["components"]["schemas"]["AddItems"]["properties"]["items"]
    assert items["minItems"] == 1
    parameters = {one["name"]: one for one in operation(document, "getCart")["parameters"]}
    pattern = parameters["If-None-Match"]["schema"]["pattern"]
    assert re.search(pattern, '"3"')
    assert not re.search(pattern, "abc")


def test_docs_page_brings_its_own_files(client: Client, db: None) -> None:
    answer = client.get("/docs")
    assert "unsafe" not in answer["Content-Security-Policy"]
    sources = re.findall('(?:src|href)="([^"]+)"', answer.content.decode())
    assert sources
    assert all(source.startswith("/") for source in sources)
    for source in sources:
        with closing(client.get(source)) as answer:
            assert answer.status_code == 200


@pytest.mark.parametrize("accepted", ["application/json", "image/png", "nonsense"])
def test_docs_page_is_a_page_whatever_is_accepted(client: Client, db: None, accepted: str) -> None:
    for path in ("/docs", "/docs?format=json"):
        answer = client.get(path, headers={"Accept": accepted})
        assert (answer.status_code, answer["Content-Type"]) == (200, "text/html; charset=utf-8")


# Schemas

CURRENCY = {"type": "string", "maxLength": 3, "pattern": "^[A-Z]{3}$"}
PRICE = {"type": "number", "format": "double", "minimum": 0, "maximum": 9_999_999_999.9999}


def capitalised(name: str) -> str:
    return name[0].upper() + name[1:]


def test_each_operation_has_an_envelope_of_its_own_name(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert "ApiResponse" not in schemas
    declared = {name: one.operation for name, one in OPERATIONS.items()}
    for name in (*OPERATIONS, "error"):
        data = declared[name].data if name in declared else None
        envelope = schemas[f"{capitalised(name)}Response"]
        members = ["message", "notifications"] + (["data"] if data else [])
        assert envelope["required"] == members
        # Data that only who prefers it gets.
        if not data and name in declared and declared[name].can_return_representation:
            data = "Cart"
            members = [*members, "data"]
        assert list(envelope["properties"]) == members
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
    assert all(re.search(rf"\b{code}\b", told) for code in API_ERRORS)


def text(limit: int) -> Document:
    return {"type": "string", "maxLength": limit}


SCHEMAS = by_kind(
    lambda schema: {**schema, "type": [schema["type"], "null"]},
    line=text,
    paragraph=text,
    integer=lambda lowest, highest: {
        "type": "integer",
        "format": "int32" if highest < 2**31 else "int64",
        "minimum": lowest,
        "maximum": highest,
    },
    currency=lambda: CURRENCY,
    price=lambda: PRICE,
    list=lambda limit: {"type": ["array", "null"], "maxItems": limit},
)
OF_PARTS = {
    "cart": ("CreateCart", "Cart"),
    "item": ("CartItem", "CartItemRead"),
    "option": ("CartItemOption", "CartItemOptionRead"),
}


@pytest.mark.parametrize("part", SCHEMAS)
def test_fields_types_and_limits(document: Document, part: str) -> None:
    schema, read = (document["components"]["schemas"][name] for name in OF_PARTS[part])
    lists = {name for name, (kind, *_) in FIELDS[part].items() if kind == "list"}
    optional = FIELDS[part].keys() & (lists | OPTIONAL)
    assert set(schema["required"]) == FIELDS[part].keys() - optional
    assert schema["properties"].keys() == FIELDS[part].keys()
    for name, expected in SCHEMAS[part].items():
        found = schema["properties"][name]
        assert found | expected == found
        # What a client has read it can send back.
        assert found["type"] == ["array", "null"] or read["properties"][name] == found


@pytest.mark.parametrize(("name", "kind"), [("platform", Line(50)), ("note", Paragraph(300))])
def test_patterns_take_the_characters_that_the_service_takes(
    document: Document, name: str, kind: Text
) -> None:
    schema = document["components"]["schemas"]["CreateCart"]["properties"][name]
    pattern = re.compile(schema["pattern"])
    every = [*map(chr, (*range(0xD800), *range(0xE000, 0x10000), 0x1F355))]
    texts = [text for one in every for text in (one, f"a{one}b")]
    assert not [text for text in texts if fits(kind, text) > fits(pattern, text)]
    # What no engine but one can read in a pattern, the document's description says in words.
    assert not [
        text for text in texts if max(text) <= "\xff" and fits(kind, text) != fits(pattern, text)
    ]


def texts_of(part: object) -> Iterator[str]:
    match part:
        case str():
            yield part
        case dict():
            yield from chain(part, *map(texts_of, part.values()))
        case list():
            yield from chain(*map(texts_of, part))


def test_every_character_of_the_document_can_be_seen(document: Document) -> None:
    """Go, for one, compiles no source that has a U+FEFF in the middle."""
    lines = [line for text in texts_of(document) for line in text.split("\n")]
    assert [line for line in lines if not line.isprintable()] == []


def fits(rule: Text | re.Pattern[str], text: str) -> bool:
    if isinstance(rule, re.Pattern):
        return bool(rule.match(text))
    try:
        rule.check(text)
    except ApiError:
        return False
    return True


def parts_of(part: object) -> Iterator[Document]:
    """Yield every object in a part of the document, itself included."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    yield from chain(*map(parts_of, inner))
    if isinstance(part, dict):
        yield part


def test_every_number_has_a_width(document: Document) -> None:
    """Without one, Go makes a float32 of it."""
    numbers = [
        (kind, part.get("format"))
        for part in parts_of(document)
        for kind in ("integer", "number")
        if kind in part.get("type", ())
    ]
    widths = {("integer", "int32"), ("integer", "int64"), ("number", "double")}
    assert {*numbers} == widths


def test_a_key_of_64_bits_warns_of_javascript(document: Document) -> None:
    keys = [
        (name, member["description"])
        for part in parts_of(document)
        for name, member in part.get("properties", {}).items()
        if name.endswith("Key") and member.get("format") == "int64"
    ]
    assert {name for name, _ in keys} == {"menuItemKey", "optionSetKey", "optionSetItemKey"}
    assert [name for name, said in keys if "JavaScript" not in said or "2^53" not in said] == []


def test_no_schema_is_called_as_a_member_of_it(document: Document) -> None:
    """Generators for Python make one name of both."""
    members = {
        (name, member)
        for name, schema in document["components"]["schemas"].items()
        for member in schema.get("properties", ())
    }
    assert [name for name, member in members if name.lower() == member.lower()] == []


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


def test_the_unit_of_an_amount_is_said(document: Document) -> None:
    amounts = [
        (name, member, schema["description"])
        for name, model in document["components"]["schemas"].items()
        for member, schema in model.get("properties", {}).items()
        if member in {"price", "value", "subtotal"}
    ]
    assert len(amounts) > 6
    assert [one for one in amounts if "currency's own unit" not in one[2]] == []


def test_what_takes_no_other_names_says_so(document: Document) -> None:
    schemas, closed = document["components"]["schemas"], set()
    for name, (declared, *_) in OPERATIONS.items():
        if declared.name in NARROWING:
            of = "member" if declared.body else "parameter"
            text = f"A {of} of another name is an error."
            assert text in operation(document, name)["description"]
            closed |= {type(declared.body).__name__.removesuffix("Serializer")} - {"NoneType"}
    # An item that was read may be sent back with its value.
    assert {name for name, one in schemas.items() if "additionalProperties" in one} == closed
    assert schemas["ReopenCart"]["required"] == ["reference"]


def test_one_body_need_not_be_sent(document: Document) -> None:
    bodies = {name: operation(document, name).get("requestBody") for name in OPERATIONS}
    assert [name for name, body in bodies.items() if body and not body["required"]] == [
        "reopenCart"
    ]


@pytest.mark.parametrize(("name", "given"), [("listCarts", 20), ("listChanges", 100)])
def test_the_limit_of_a_page(document: Document, db: None, name: str, given: int) -> None:
    (limit,) = (one for one in operation(document, name)["parameters"] if one["name"] == "limit")
    schema = {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100}
    assert limit["schema"] == schema | {"default": given}
    api = Api(scope="Cart.Read Cart.AnyProfile")
    path = OPERATIONS[name].path.format(profileKey=PROFILE)
    api.base = ""
    for size, status in ((100, 200), (101, 400)):
        assert api.get(f"{path}?limit={size}").status_code == status


def test_a_cursor_may_be_any_text_that_is_one(document: Document) -> None:
    page = document["components"]["schemas"]["CartPage"]["properties"]
    assert undescribed(page["nextCursor"]) == {"type": ["string", "null"]}
    parameters = {one["name"]: one for one in operation(document, "listCarts")["parameters"]}
    assert parameters["cursor"]["schema"] == {"type": "string", "minLength": 1}
