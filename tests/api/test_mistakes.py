"""The mistakes that integrators make, each with its answer: a manual to look things up in."""

import time
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest

from tests.api.calls import (
    CART,
    CARTS,
    ITEM,
    ITEMS,
    Call,
    add,
    create,
    create_with_item,
    create_with_option,
    list_carts,
    post,
    prepared,
    read,
    remove,
    replace_item,
)
from tests.support import bodies
from tests.support.answers import error, success
from tests.support.callers import Api
from tests.support.left_out import LEFT_OUT
from tests.support.tokens import mint

MISSING = "This field is required."
NULL = "This field must not be null."
NO_TOKEN = "Send an Authorization header with a bearer token."
BAD_TOKEN = "The bearer token is not valid here."
NOTHING = "There is nothing at this path."
NO_CART = "This profile has no such cart."
NO_ITEM = "The cart has no such item."
NOT_JSON = "The body must be sent as application/json in UTF-8."
SYNTAX = "The body is not JSON"
NO_OBJECT = "The body must be a JSON object."
IN_EUR = "The cart's currency is EUR."
NO_CURRENCY = "This is not an upper-case currency code of ISO 4217, such as EUR."
TAG = 'If-Match must be a version in quotes, such as "3", or a list of these.'
KEY = "Idempotency-Key must be 1 to 255 visible ASCII characters."
REUSED = "This Idempotency-Key came with another request before."
UNKNOWN = "This object has no member of that name."

# What the integrator did; the request; status, code, field and text of the answer.
Row = tuple[str, Call, int, str, str | None, str]

# fmt: off
MANUAL: dict[str, list[Row]] = {
    "token": [
        ("sent none", list_carts().saying(Authorization=LEFT_OUT),
         401, "not_authenticated", None, NO_TOKEN),
        ("sent it without the word Bearer", list_carts().saying(Authorization="{token}"),
         401, "not_authenticated", None, NO_TOKEN),
        ("sent the word Bearer alone", list_carts().saying(Authorization="Bearer"),
         401, "not_authenticated", None, NO_TOKEN),
        ("sent a name and a password", list_carts().saying(Authorization="Basic YTpi"),
         401, "not_authenticated", None, NO_TOKEN),
        ("sent it in the query", list_carts("?access_token=x").saying(Authorization=LEFT_OUT),
         401, "not_authenticated", None, NO_TOKEN),
        ("sent it in quotes", list_carts().saying(Authorization='Bearer "{token}"'),
         401, "invalid_token", None, BAD_TOKEN),
        ("sent another issuer's", list_carts().saying(Authorization=f"Bearer {mint(key='k' * 32)}"),
         401, "invalid_token", None, BAD_TOKEN),
        ("sent it an hour after its end", list_carts().by(exp=int(time.time()) - 3600),
         401, "invalid_token", None, "The token has expired."),
        ("had one that never ends", list_carts().by(exp=LEFT_OUT),
         401, "invalid_token", None, BAD_TOKEN),
        ("had one of nobody", list_carts().by(sub=LEFT_OUT),
         401, "invalid_token", None, BAD_TOKEN),
        ("had one that is not valid yet", list_carts().by(nbf=int(time.time()) + 3600),
         401, "invalid_token", None, BAD_TOKEN),
        ("had a profileKey claim that is no GUID", list_carts().by(profileKey="42"),
         401, "invalid_token", None, BAD_TOKEN),
        ("had a partnerKey claim that is a number", list_carts().by(partnerKey=42),
         401, "invalid_token", None, BAD_TOKEN),
    ],
    "scope and identity": [
        ("wrote with Cart.Read", create().by(scope="Cart.Read"),
         403, "insufficient_scope", None, "The token must carry Cart.Write."),
        ("spelt the scope in lower case", create().by(scope="cart.write"),
         403, "insufficient_scope", None, "The token must carry Cart.Write."),
        ("separated scopes by a comma", create().by(scope="Cart.Read,Cart.Write"),
         403, "insufficient_scope", None, "The token must carry Cart.Write."),
        ("read without a scope", read().by(scope=LEFT_OUT),
         403, "insufficient_scope", None, "The token must carry Cart.Read or Cart.Write."),
        ("asked for another customer", list_carts().to(profile="{stranger}").by(
            profileKey="0f8fad5b-d9cb-469f-a165-70867728950e"),
         403, "profile_mismatch", "profileKey", "The token does not open this customer profile."),
        ("created another partner's cart", create().by(partnerKey="ZZZZ"),
         403, "partner_mismatch", "/partnerKey", "The token is another partner's."),
        ("changed another partner's cart", replace_item().by(partnerKey="ZZZZ"),
         404, "cart_not_found", None, NO_CART),
    ],
    "path": [
        ("put a slash at its end", create().at(f"{CARTS}/"), 404, "not_found", None, NOTHING),
        ("named another version", create().at(CARTS.replace("v2.0", "v1.0")),
         404, "not_found", None, NOTHING),
        ("wrote the version with a capital", create().at(CARTS.replace("v2.0", "V2.0")),
         404, "not_found", None, NOTHING),
        ("left out the customer", create().at("/v2.0/carts"), 404, "not_found", None, NOTHING),
        ("wrote cart in the singular", create().at(CARTS[:-1]), 404, "not_found", None, NOTHING),
        ("sent a number for the profile", list_carts().to(profile="4711"),
         400, "invalid_guid", "profileKey", "profileKey must be a GUID."),
        ("left out the dashes of a GUID", read().to(cart="0f8fad5bd9cb469fa16570867728950e"),
         400, "invalid_guid", "cartId", "cartId must be a GUID."),
        ("put a GUID into braces", read().to(cart="%7B0f8fad5b-d9cb-469f-a165-70867728950e%7D"),
         400, "invalid_guid", "cartId", "cartId must be a GUID."),
        ("sent the word undefined", remove().to(item="undefined"),
         400, "invalid_guid", "itemId", "itemId must be a GUID."),
        ("left a placeholder in", read().to(cart="%7BcartId%7D"),
         400, "invalid_guid", "cartId", "cartId must be a GUID."),
    ],
    "keys": [
        ("read a cart that never was", read().to(cart="{stranger}"),
         404, "cart_not_found", None, NO_CART),
        ("read another customer's cart", read().to(cart="{foreign}"),
         404, "cart_not_found", None, NO_CART),
        ("added to a cart that never was", add().to(cart="{stranger}"),
         404, "cart_not_found", None, NO_CART),
        ("swapped the cart and the item", replace_item().at(f"{CARTS}/{{item}}/items/{{cart}}"),
         404, "cart_not_found", None, NO_CART),
        ("swapped the profile and the cart", read().at("/v2.0/customers/{cart}/carts/{profile}"),
         404, "cart_not_found", None, NO_CART),
        ("named another cart's item", replace_item().to(item="{other_item}"),
         404, "item_not_found", None, NO_ITEM),
        ("sent the menu item's key as a GUID", replace_item().to(item="{profile}"),
         404, "item_not_found", None, NO_ITEM),
    ],
    "method": [
        ("updated with POST", Call("POST", ITEM, bodies.item()),
         405, "method_not_allowed", None, 'Method "POST" not allowed.'),
        ("updated with PATCH", Call("PATCH", ITEM, {"quantity": 3}),
         405, "method_not_allowed", None, 'Method "PATCH" not allowed.'),
        ("added with PUT", Call("PUT", ITEMS, bodies.item()),
         405, "method_not_allowed", None, 'Method "PUT" not allowed.'),
        ("created with PUT", Call("PUT", CARTS, bodies.cart()),
         405, "method_not_allowed", None, 'Method "PUT" not allowed.'),
        ("read one item", Call("GET", ITEM),
         405, "method_not_allowed", None, 'Method "GET" not allowed.'),
        ("read the items alone", Call("GET", ITEMS),
         405, "method_not_allowed", None, 'Method "GET" not allowed.'),
        ("deleted a cart", Call("DELETE", CART),
         405, "method_not_allowed", None, 'Method "DELETE" not allowed.'),
        ("asked from a page of an origin that is not listed",
         Call("OPTIONS", CARTS).saying(Origin="https://shop.example"),
         405, "method_not_allowed", None, 'Method "OPTIONS" not allowed.'),
    ],
    "media type": [
        ("named none", create().saying(Content_Type=""),
         415, "unsupported_media_type", "Content-Type", NOT_JSON),
        ("sent a form", post("partnerKey=ACME").saying(
            Content_Type="application/x-www-form-urlencoded"),
         415, "unsupported_media_type", "Content-Type", NOT_JSON),
        ("called it plain text", create().saying(Content_Type="text/plain"),
         415, "unsupported_media_type", "Content-Type", NOT_JSON),
        ("called it a vendor's JSON", create().saying(Content_Type="application/vnd.acme+json"),
         415, "unsupported_media_type", "Content-Type", NOT_JSON),
        ("named another charset", create().saying(Content_Type="application/json; charset=latin1"),
         415, "unsupported_media_type", "Content-Type", NOT_JSON),
        ("compressed it", create().saying(Content_Encoding="gzip"),
         415, "unsupported_media_type", "Content-Encoding",
         "The body must be sent without a Content-Encoding."),
    ],
    "JSON": [
        ("sent an empty body", post("").saying(Content_Type="application/json"),
         400, "malformed_json", None, f"{SYNTAX}: Expecting value at line 1, column 1."),
        ("sent a form and called it JSON", post("partnerKey=ACME"),
         400, "malformed_json", None, f"{SYNTAX}: Expecting value at line 1, column 1."),
        ("used single quotes", post("{'partnerKey': 'ACME'}"), 400, "malformed_json", None,
         f"{SYNTAX}: Expecting property name enclosed in double quotes at line 1, column 2."),
        ("forgot a comma", post('{\n  "partnerKey": "ACME"\n  "restaurantKey": 1\n}'),
         400, "malformed_json", None,
         f"{SYNTAX}: Expecting ',' delimiter at line 3, column 3."),
        ("cut it off", post('{"partnerKey": "AC'), 400, "malformed_json", None,
         f"{SYNTAX}: Unterminated string starting at line 1, column 16."),
        ("sent two bodies", post("{}{}"),
         400, "malformed_json", None, f"{SYNTAX}: Extra data at line 1, column 3."),
        ("wrote NaN", post('{"restaurantKey": NaN}'),
         400, "malformed_json", None, "The body has NaN, which is not a JSON number."),
        ("wrote a number that no double holds", post('{"restaurantKey": 1e999}'),
         400, "malformed_json", None, "The body has a number that is out of range."),
        ("named a member twice", post('{"note": "a", "note": "b"}'), 400, "malformed_json", None,
         "The body has an object that names the same member twice."),
        ("encoded it in Latin-1", post('{"note": "Käse"}'.encode("latin-1")),
         400, "malformed_json", None, "The body is not UTF-8."),
        ("wrapped the cart in an array", post("[{}]"), 400, "invalid_type", "", NO_OBJECT),
        ("encoded it twice", post('"{}"'), 400, "invalid_type", "", NO_OBJECT),
        ("sent null", post("null"), 400, "invalid_type", "", NO_OBJECT),
        ("sent more than 256 KiB", post(" " * (256 * 1024 + 1)), 413, "payload_too_large", None,
         "The body must not be larger than 262144 bytes."),
    ],
    "required members": [
        ("left out the partner", create(partnerKey=LEFT_OUT),
         400, "required", "/partnerKey", MISSING),
        ("wrote the name in snake case", create(partnerKey=LEFT_OUT, partner_key="ACME"),
         400, "required", "/partnerKey", MISSING),
        ("wrote fulfillmentChannel",
         create(fulfilmentChannel=LEFT_OUT, fulfillmentChannel="DELIVERY"),
         400, "required", "/fulfilmentChannel", MISSING),
        ("left out an item's quantity", create_with_item(quantity=LEFT_OUT),
         400, "required", "/items/0/quantity", MISSING),
        ("left out an option's price", create_with_option(price=LEFT_OUT),
         400, "required", "/items/0/options/0/price", MISSING),
        ("sent only what changes", replace_item(quantity=3, price=LEFT_OUT),
         400, "required", "/price", MISSING),
        ("sent null for a currency", create(currency=None), 400, "null", "/currency", NULL),
        ("sent null for a price", add(price=None), 400, "null", "/price", NULL),
        ("sent an empty platform", create(platform=""),
         400, "blank", "/platform", "This text must not be blank."),
        ("sent a name of spaces", add(displayName="   "),
         400, "blank", "/displayName", "This text must not be blank."),
    ],
    "types": [
        ("sent the restaurant as text", create(restaurantKey="4711"),
         400, "invalid_type", "/restaurantKey", "This must be an integer, not a string."),
        ("sent the partner as a number", create(partnerKey=4711),
         400, "invalid_type", "/partnerKey", "This must be a string, not a number."),
        ("sent one item and no list", create(items=bodies.item()),
         400, "invalid_type", "/items", "This must be an array, not an object."),
        ("sent null for an item", create(items=[None]),
         400, "invalid_type", "/items/0", "This must be an object, not null."),
        ("sent the key of an option", add(options=[71]),
         400, "invalid_type", "/options/0", "This must be an object, not a number."),
        ("sent the price as text", add(price="9.50"),
         400, "invalid_type", "/price", "This must be a number, not a string."),
        ("sent the quantity as a fraction", add(quantity=1.5),
         400, "invalid_type", "/quantity", "This must be an integer, not a number."),
        ("sent the quantity as true", add(quantity=True),
         400, "invalid_type", "/quantity", "This must be an integer, not a boolean."),
        ("sent a 64-bit key as text", add(menuItemKey="4611686018427387904"),
         400, "invalid_type", "/menuItemKey", "This must be an integer, not a string."),
    ],
    "limits": [
        ("ordered none", add(quantity=0),
         400, "min_value", "/quantity", "This number must not be below 1."),
        ("ordered ten thousand", add(quantity=10_000),
         400, "max_value", "/quantity", "This number must not be above 9999."),
        ("sent a discount as a price", create_with_option(price=-1.5), 400, "min_value",
         "/items/0/options/0/price", "A price must not be below 0."),
        ("sent a price of eleven digits", add(price=10_000_000_000), 400, "max_value", "/price",
         "A price must not be above 9999999999.9999."),
        ("sent a price that was divided by three", add(price=10 / 3), 400, "too_many_decimals",
         "/price", "A price must not have more than 4 decimals."),
        ("sent a restaurant of 64 bits", create(restaurantKey=2**31), 400, "max_value",
         "/restaurantKey", "This number must not be above 2147483647."),
        ("sent a key beyond 64 bits", add(menuItemKey=2**63), 400, "max_value", "/menuItemKey",
         "This number must not be above 9223372036854775807."),
        ("sent a partner of five characters", create(partnerKey="ACMES"), 400, "max_length",
         "/partnerKey", "This text must not be longer than 4 characters; it has 5."),
        ("sent a note of 301 characters", create(note="x" * 301), 400, "max_length", "/note",
         "This text must not be longer than 300 characters; it has 301."),
        ("sent a name of 101 pizzas", add(displayName="\U0001f355" * 101), 400, "max_length",
         "/displayName", "This text must not be longer than 100 characters; it has 101."),
        ("broke the line of a name", add(displayName="Pizza\nMargherita"), 400,
         "control_character", "/displayName", "This text holds the control character U+000A."),
        ("sent a printer's command", add(specialInstructions="\x1bE"), 400, "control_character",
         "/specialInstructions", "This text holds the control character U+001B."),
        ("cut an emoji in half", create(note="\ud83c"), 400, "control_character", "/note",
         "This text holds the lone surrogate U+D83C: half of a character."),
        ("sent 501 items", create(items=[bodies.bare_item()] * 501),
         400, "too_many", "/items", "There must not be more than 200 items in a cart."),
        ("sent 101 options", add(options=101),
         400, "too_many", "/options", "There must not be more than 100 options on an item."),
    ],
    "currency": [
        ("wrote it in lower case", create(currency="eur", items=[]),
         400, "invalid_currency", "/currency", NO_CURRENCY),
        ("sent its symbol", create(currency="€", items=[]),
         400, "invalid_currency", "/currency", NO_CURRENCY),
        ("sent one that is withdrawn", create(currency="DEM", items=[]),
         400, "invalid_currency", "/currency", NO_CURRENCY),
        ("mixed two in one cart", create_with_item(currency="USD"),
         400, "currency_mismatch", "/items/0/currency", IN_EUR),
        ("priced an option in another", create_with_option(currency="USD"),
         400, "currency_mismatch", "/items/0/options/0/currency", IN_EUR),
        ("added an item in another", add(currency="USD", options=[]),
         400, "currency_mismatch", "/currency", IN_EUR),
    ],
    "ETag": [
        ("sent a stale one", replace_item().saying(If_Match='"1"'), 412, "version_mismatch",
         "If-Match", "The cart has moved on: its version is now 3."),
        ("removed with a stale one", remove().saying(If_Match='W/"2"'), 412, "version_mismatch",
         "If-Match", "The cart has moved on: its version is now 3."),
        ("sent another service's", add().saying(If_Match='"686897696a7c876b7e"'), 412,
         "version_mismatch", "If-Match", "The cart has moved on: its version is now 3."),
        ("forgot the quotes", replace_item().saying(If_Match="3"),
         400, "invalid_header", "If-Match", TAG),
        ("sent an empty one", remove().saying(If_Match=""), 400, "invalid_header", "If-Match", TAG),
        ("forgot the quotes on reading", read().saying(If_None_Match="3"),
         400, "invalid_header", "If-None-Match", TAG.replace("If-Match", "If-None-Match")),
    ],
    "retry": [
        ("sent another cart with the same key", create(note="Other").saying(
            Idempotency_Key="created"),
         422, "idempotency_key_reused", "Idempotency-Key", REUSED),
        ("sent a key of Create Cart with Add Item", add().saying(Idempotency_Key="created"),
         422, "idempotency_key_reused", "Idempotency-Key", REUSED),
        ("added to another cart with the same key",
         add().to(cart="{other}").saying(Idempotency_Key="added"),
         422, "idempotency_key_reused", "Idempotency-Key", REUSED),
        ("sent an empty key", create().saying(Idempotency_Key=""),
         400, "invalid_header", "Idempotency-Key", KEY),
        ("sent a key with a space", add().saying(Idempotency_Key="order 4711"),
         400, "invalid_header", "Idempotency-Key", KEY),
        ("sent a key of 256 characters", create().saying(Idempotency_Key="k" * 256),
         400, "invalid_header", "Idempotency-Key", KEY),
        ("removed an item twice", remove().to(item="{removed}"),
         404, "item_not_found", None, NO_ITEM),
    ],
    "query": [
        ("asked for no carts", list_carts("?limit=0"),
         400, "invalid_parameter", "limit", "limit must be 1 to 100."),
        ("asked for 101 carts", list_carts("?limit=101"),
         400, "invalid_parameter", "limit", "limit must be 1 to 100."),
        ("asked for all carts", list_carts("?limit=all"),
         400, "invalid_parameter", "limit", "limit must be 1 to 100."),
        ("left the limit empty", list_carts("?limit="),
         400, "invalid_parameter", "limit", "limit must be 1 to 100."),
        ("sent the limit twice", list_carts("?limit=5&limit=50"),
         400, "invalid_parameter", "limit", "limit must be sent once."),
        ("sent the last page's null", list_carts("?cursor=null"),
         400, "invalid_parameter", "cursor", "cursor must be a nextCursor of this list."),
        ("sent a page's number", list_carts("?cursor=2"),
         400, "invalid_parameter", "cursor", "cursor must be a nextCursor of this list."),
        ("sent the cursor twice", list_carts("?cursor={cart}&cursor={other}"),
         400, "invalid_parameter", "cursor", "cursor must be sent once."),
    ],
    "other headers": [
        ("called by another name", list_carts().saying(Host="carts.internal"),
         400, "invalid_header", "Host", "The Host header names no host of this service."),
        ("misspelt a member and prefers to be told",
         add(specialInstruction="Hot").saying(Prefer="handling=strict"),
         400, "unknown_member", "/specialInstruction", UNKNOWN),
    ],
}

# What is done all the same, with the warnings that tell of it.
FORGIVEN: list[tuple[str, Call, list[str]]] = [
    ("misspelt a member", replace_item(specialInstruction="Hot"), ["/specialInstruction"]),
    ("misspelt a member of an option", replace_item(options=[bodies.option() | {"name": "Hot"}]),
     ["/options/0/name"]),
    ("sent a read item back", replace_item(itemId="4711", value=20.2), []),
    ("prefers something else", replace_item().saying(Prefer="return=minimal"), []),
    ("wrote bearer in lower case", replace_item().saying(Authorization="bearer {token}"), []),
    ("wrote a whole number with a point", replace_item(quantity=2.0), []),
    ("sent a double's noise", replace_item(price=0.1 + 0.2), []),
    ("asked for XML", replace_item().saying(Accept="application/xml"), []),
    ("sent a weak tag", replace_item().saying(If_Match='W/"3"'), []),
    ("sent a parameter that is none", replace_item().at(f"{ITEM}?debug=1"), []),
]
# fmt: on


@pytest.mark.parametrize(
    ("call", "status", "code", "field", "text"),
    [
        pytest.param(*answer, id=f"{heading}: {what}")
        for heading, rows in MANUAL.items()
        for what, *answer in rows
    ],
)
def test_a_mistake_is_told_and_nothing_written(
    api: Api,
    unchanged: Callable[[], None],
    call: Call,
    status: int,
    code: str,
    field: str | None,
    text: str,
) -> None:
    keys = prepared(api)
    unchanged()

    response = call.send(keys)

    assert response.status_code == status
    assert response.json() == error(code, text, field)


@pytest.mark.parametrize(
    ("call", "told"), [pytest.param(call, told, id=what) for what, call, told in FORGIVEN]
)
def test_a_small_mistake_is_forgiven(api: Api, call: Call, told: list[str]) -> None:
    response = call.send(prepared(api))

    whole = success("The item was updated.")
    for place in told:
        whole["notifications"] += [
            {**error("unknown_member", UNKNOWN, place)["notifications"][0], "severity": "Warning"}
        ]
    assert response.status_code == 200
    assert response.json() == whole


def test_there_are_a_hundred() -> None:
    done = [row[0] for row in chain(*MANUAL.values())]
    assert len(done) >= 100
    assert len(set(done)) == len(done)


def test_several_mistakes_are_told_at_once(api: Api, unchanged: Callable[[], None]) -> None:
    keys = prepared(api)
    unchanged()
    call: Any = create(platform="", items=[bodies.item(quantity=0, price="9.50")])

    answer = call.send(keys).json()

    assert answer["message"] == "The request has 3 problems."
    assert [told["additionalData"]["field"] for told in answer["notifications"]] == [
        "/items/0/price",
        "/items/0/quantity",
        "/platform",
    ]
