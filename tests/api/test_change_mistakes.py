"""What a caller can get wrong with Change Cart, Change Item and Delete Cart.

Each row says what the answer is. Whatever it is, the database stays as it was, version included.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created_with_items

CART, ITEM = "/{cart}", "/{cart}/items/{item}"


def wrong(name: str, code: str, *values: Any) -> list[tuple[Any, str, str]]:
    """Return body, code and field of a 400 for each value of the member."""
    return [({name: value}, code, f"/{name}") for value in values]


OF_A_CART = [
    *(
        row
        for name in ("platform", "orderingChannel", "fulfilmentChannel")
        for row in [
            *wrong(name, "null", None),
            *wrong(name, "blank", "", " \u2003"),
            *wrong(name, "max_length", "😀" * 51),
            *wrong(name, "invalid_type", 0, 5.5, False, [], {}),
            *wrong(name, "control_character", "w\0", "w\t", "w\n", "w\x85", "w\ud800"),
        ]
    ),
    *wrong("note", "invalid_type", 7, []),
    *wrong("note", "max_length", "x" * 301),
    *wrong("partnerKey", "cannot_change", "ACME", None),
    *wrong("restaurantKey", "cannot_change", 4711, []),
    *wrong("currency", "cannot_change", "EUR", 7),
    *wrong("items", "cannot_change", [], None),
]
OF_AN_ITEM = [
    *wrong("quantity", "null", None),
    *wrong("quantity", "min_value", 0, -1, -(2**63)),
    *wrong("quantity", "max_value", 10_000, 2**31),
    *wrong("quantity", "invalid_type", "3", 2.5, True, [], {}),
    *(
        row
        for name, held in bodies.item().items()
        if name not in {"quantity", "specialInstructions"}
        for row in wrong(name, "cannot_change", held, None, {})
    ),
]
OF_BOTH: list[tuple[Any, str, str | None]] = [
    *wrong("specialInstructions", "invalid_type", 7, True, [], {}),
    *wrong("specialInstructions", "max_length", "x" * 301),
    *wrong("specialInstructions", "control_character", "\0", "\x1b", "\x7f", "\x85", "\udfff"),
    *((text, "invalid_type", "") for text in ("[]", "null", '"{}"', "5", "true")),
    *((text, "malformed_json", None) for text in (" ", "{", "{}{}", "{'note': 1}", "[" * 100_000)),
    *((text, "malformed_json", None) for text in ('{"note": 1,}', '{"note": NaN}')),
    *((text, "malformed_json", None) for text in ('{"note": 1e999}', '{"note": "", "note": ""}')),
    *((text, "malformed_json", None) for text in (b'{"note": "\xff"}', b"\xff\xfe{\0}\0")),
]

# method, path, body, headers, and the status, code and field of the answer
Row = tuple[str, str, Any, dict[str, str], int, str | None, str | None]
PATCHED = (("PATCH", CART), ("PATCH", ITEM))
ALL = (*PATCHED, ("DELETE", CART))
STRICT = {"Prefer": "handling=strict"}
NEW = {"specialInstructions": "new"}
LATE = {"If_Match": '"2"'}
NOBODYS = str(STRANGER)
UNSUPPORTED = "unsupported_media_type"
OTHER_TYPES = [
    *["", "json", "text/plain", "application/*", "application/json-patch+json"],
    *["application/merge-patch+json; charset=utf-16", "application/merge-patch"],
    *["application/json; charset=latin-1", "multipart/form-data; boundary=x"],
]
NO_TAGS = ["", "1", '"1', '"1",', '"1" "2"', "**", "w/1", '"a b"', ", ".join(['"1"'] * 201)]
OTHER_TAGS = ['"2"', '"0"', '"01"', '""', 'W/"2"', '"7", W/"8"', f'"{10**30}"']
TABLE: list[Row] = [
    *(("PATCH", CART, body, {}, 400, code, field) for body, code, field in OF_A_CART),
    *(("PATCH", ITEM, body, {}, 400, code, field) for body, code, field in OF_AN_ITEM),
    ("PATCH", ITEM, {"note": "new"}, {}, 200, "unknown_member", "/note"),
    ("PATCH", ITEM, {"note": "new"}, STRICT, 400, "unknown_member", "/note"),
    ("PATCH", CART, {"quantity": 3}, {}, 200, "unknown_member", "/quantity"),
    *(
        row
        for method, path in PATCHED
        for row in [
            *((method, path, body, {}, 400, code, field) for body, code, field in OF_BOTH),
            (method, path, {}, {}, 200, None, None),
            (method, path, {}, STRICT, 200, None, None),
            (method, path, {"itemId": 1, "version": 7, "value": {}}, STRICT, 200, None, None),
            (method, path, {"a/b~": None}, {}, 200, "unknown_member", "/a~1b~0"),
            (method, path, {"a/b~": None}, STRICT, 400, "unknown_member", "/a~1b~0"),
            (method, path, NEW | {"Quantity": 3}, STRICT, 400, "unknown_member", "/Quantity"),
            (method, path, {"note": "x" * 2**18}, {}, 413, "payload_too_large", None),
            *(
                (method, path, NEW, {"Content_Type": kind}, 415, UNSUPPORTED, "Content-Type")
                for kind in OTHER_TYPES
            ),
            (method, path, NEW, {"Content_Encoding": "gzip"}, 415, UNSUPPORTED, "Content-Encoding"),
        ]
    ),
    *(
        row
        for method, path in ALL
        for row in [
            *(
                (method, path, NEW, {"If_Match": tags}, 400, "invalid_header", "If-Match")
                for tags in NO_TAGS
            ),
            *(
                (method, path, NEW, {"If_Match": tags}, 412, "version_mismatch", "If-Match")
                for tags in OTHER_TAGS
            ),
            (method, path.replace("{cart}", "1"), NEW, {}, 400, "invalid_guid", "cartId"),
            (method, f"{path}/", NEW, {}, 404, "not_found", None),
            (method, path.replace("{cart}", NOBODYS), NEW, LATE, 404, "cart_not_found", None),
            ("POST", path, NEW, {}, 405, "method_not_allowed", None),
        ]
    ),
    ("PATCH", CART + "/items/1", NEW, {}, 400, "invalid_guid", "itemId"),
    ("PATCH", CART + "/items/{other}", NEW, {}, 404, "item_not_found", None),
    ("PATCH", CART + f"/items/{NOBODYS}", NEW, LATE, 404, "item_not_found", None),
    ("PATCH", CART + f"/items/{NOBODYS}", {"quantity": 0}, {}, 400, "min_value", "/quantity"),
    ("PUT", CART, NEW, {}, 405, "method_not_allowed", None),
]


def _named(row: Row) -> str:
    method, path, body, headers, status, code, _ = row
    return f"{method} {path} {body!r:.40} {str(headers)[:40]} {status} {code}"


def complaints(response: Any) -> list[tuple[str, str | None]]:
    """Return the code and the field of each notification, the success apart."""
    return [
        (each["code"], each["additionalData"] and each["additionalData"]["field"])
        for each in response.json()["notifications"]
        if each["severity"] != "Success"
    ]


@pytest.mark.parametrize("row", TABLE, ids=_named)
def test_mistake(api: Api, unchanged: Callable[[], None], row: Row) -> None:
    method, path, body, headers, status, code, field = row
    _, [other] = created_with_items(api, "Gelato")
    cart, [item, _] = created_with_items(api, "Calzone", "Pizza")
    unchanged()

    path = path.format(cart=cart, item=item, other=other)
    response = api.request(method, path, body, **headers)

    assert response.status_code == status, response.json()
    assert complaints(response) == ([(code, field)] if code else [])


# claims, profile of the path, and the status, code and field of the answer
STRANGERS: list[tuple[dict[str, Any], UUID, int, str, str | None]] = [
    ({"exp": 1}, PROFILE, 401, "invalid_token", None),
    ({"scope": "Cart.Read"}, PROFILE, 403, "insufficient_scope", None),
    ({"scope": "cart.write Cart.Writes"}, PROFILE, 403, "insufficient_scope", None),
    ({"profileKey": str(STRANGER)}, PROFILE, 403, "profile_mismatch", "profileKey"),
    ({"profileKey": str(STRANGER)}, STRANGER, 404, "cart_not_found", None),
    ({}, STRANGER, 404, "cart_not_found", None),
    ({"partnerKey": "EVIL"}, PROFILE, 404, "cart_not_found", None),
]


@pytest.mark.parametrize(("method", "path"), ALL)
@pytest.mark.parametrize("row", STRANGERS, ids=lambda row: f"{row[0]} {row[1]}")
def test_stranger(
    api: Api, unchanged: Callable[[], None], method: str, path: str, row: Any
) -> None:
    claims, profile, status, code, field = row
    cart, [item] = created_with_items(api, "Calzone")
    unchanged()

    response = Api(profile, **claims).request(method, path.format(cart=cart, item=item), NEW)

    assert (response.status_code, complaints(response)) == (status, [(code, field)])
