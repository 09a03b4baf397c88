"""Every example of the document is true: requests succeed as they stand, answers come as shown."""

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from django.http import HttpResponse

from cartsvc import request_errors
from tests.api.openapi_document import OPERATIONS, Document, id_of, operation, served
from tests.support.answers import errors_of
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.operations import IN_TURN
from tests.support.table_contents import Unchanged

document = cache(served)


def media(name: str, status: str) -> Document:
    answer = operation(document(), name)["responses"][status]
    found: Document = answer["content"]["application/json"]
    return found


def shown(name: str, status: str, example: str) -> Any:
    """Return an example of an answer. Those of errors are one for each code."""
    found = media(name, status)["examples"][example]
    if status != "200":
        assert found == {"$ref": f"#/components/examples/{example}"}
        found = document()["components"]["examples"][example]
    return found["value"]


def body(name: str) -> Any:
    request = operation(document(), name).get("requestBody")
    return request and request["content"]["application/json"]["example"]


# Their shape


def valid(media: Document, example: Any) -> bool:
    schema = {**media["schema"], "components": document()["components"]}
    return bool(jsonschema_rs.validator_for(schema).is_valid(example))


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_request_and_answer_has_examples_of_its_schema(name: str) -> None:
    described = operation(document(), name)
    if "requestBody" in described:
        assert valid(described["requestBody"]["content"]["application/json"], body(name))
    for status in described["responses"].keys() - {"304"}:
        assert media(name, status)["examples"]
        for code in media(name, status)["examples"]:
            example = shown(name, status, code)
            assert valid(media(name, status), example)
            if status != "200":
                of_a_list = (name, code) == ("replaceItems", "item_not_found")
                declared = 400 if of_a_list else request_errors.API_ERRORS[code].status
                assert declared == int(status)
                assert example["notifications"][0]["code"] == code


# What the service answers

OF_EACH_CART = re.compile(
    r'"(cartId|profileKey|itemIds?|createdOn|modifiedOn|closedOn)": ?(?:"[^"]*"|\[[^]]*\])'
)
A_MOMENT = re.compile(r"since [0-9T:.-]+Z")


def assert_as_shown(answer: HttpResponse, name: str, status: str, example: str) -> None:
    """Compare an answer with an example of the document, keys and times apart."""
    assert str(answer.status_code) == status, answer.content
    expected, found = (
        OF_EACH_CART.sub(r'"\1":""', A_MOMENT.sub("since", json.dumps(answer, sort_keys=True)))
        for answer in (shown(name, status, example), json.loads(answer.content))
    )
    assert found == expected


class World:
    """A cart of the document's example at version 4, and requests about it."""

    def __init__(self, api: Api) -> None:
        self.keys = {"profileKey": str(PROFILE)}
        self.keys |= self.send(api, "createCart", body("createCart")).json()["data"]
        found = self.send(api, "getCart")
        assert_as_shown(found, "getCart", "200", "success")
        self.keys["itemId"] = found.json()["data"]["items"][0]["itemId"]
        for _ in range(3):
            self.send(api, "updateItem", body("updateItem"))

    def send(self, api: Api, name: str, content: Any = None, **changes: Any) -> Any:
        """Send the request, with `changes` to the keys in its path, its query or its headers."""
        api.base = OPERATIONS[name].path.format(**{**self.keys, **changes})
        headers = changes.get("headers", {})
        return api.request(OPERATIONS[name].method, changes.get("query", ""), content, **headers)


def test_every_success_is_as_shown(api: Api) -> None:
    assert_as_shown(api.post(body=body("createCart")), "createCart", "200", "success")
    assert_as_shown(api.get(), "listCarts", "200", "success")
    world = World(api)
    for name in map(id_of, IN_TURN):
        assert_as_shown(world.send(api, name, body(name)), name, "200", "success")
        if name == "moveCart":
            world.keys |= body(name)


IN_THE_BODY = {
    "unknown_member": {"specialInstruction": "Cut in 12"},
    "cannot_change": {"currency": "EUR"},
}
IN_THE_TOKEN: dict[str, dict[str, Any]] = {
    "not_authenticated": {"token": ""},
    "invalid_token": {"token": "nonsense"},
    "insufficient_scope": {"scope": "Menu.Read"},
    "profile_mismatch": {"profileKey": str(STRANGER)},
    "partner_mismatch": {"partnerKey": "ACME"},
}
ELSEWHERE: dict[str, dict[str, Any]] = {
    "malformed_json": {"content": "nonsense"},
    "payload_too_large": {"content": b" " * (256 * 1024 + 1)},
    "unsupported_media_type": {"headers": {"Content-Type": "text/plain"}},
    "invalid_guid": {"profileKey": "4711"},
    "invalid_parameter": {"query": "?limit=0"},
    "unknown_parameter": {"query": "?offset=10"},
    "cart_not_found": {"cartId": STRANGER},
    "item_not_found": {"itemId": STRANGER},
    "version_mismatch": {"headers": {"If-Match": '"3"'}},
    "idempotency_key_reused": {"headers": {"Idempotency-Key": "used"}},
}
# What no request brings about by itself; their texts are the declared ones.
OF_THE_SERVICE = {"request_in_progress", "throttled", "internal_error", "unavailable"}
# Examples that show what another operation answers with the same code.
OF_ANOTHER_OPERATION = {
    ("listChanges", "invalid_parameter"),
    ("closeCart", "cannot_change"),
    *((name, "cart_closed") for name in ("closeCart", "reopenCart")),
    ("replaceItems", "item_not_found"),
    *(
        (name, "idempotency_key_reused")
        for name in OPERATIONS
        if OPERATIONS[name].body == body(name)
    ),
    *(
        (name, code)
        for name, (declared, *_) in OPERATIONS.items()
        for code, differs in (
            ("insufficient_scope", declared.scopes != ("Cart.Write",)),
            ("unsupported_media_type", declared.media_types != ("application/json",)),
        )
        if differs
    ),
}

API_ERRORS = [
    (name, status, code)
    for name in OPERATIONS
    for status, answer in operation(document(), name)["responses"].items()
    if status not in {"200", "304"}
    for code in answer["content"]["application/json"]["examples"]
    if code not in OF_THE_SERVICE
]


@pytest.mark.parametrize(("name", "status", "code"), API_ERRORS)
def test_every_refusal_is_as_shown(
    name: str, status: str, code: str, api: Api, unchanged: Unchanged
) -> None:
    world = World(api)
    api = Api(scope="Cart.Read Cart.Write Cart.Close Cart.AnyProfile")
    request: dict[str, Any] = {"content": body(name), **ELSEWHERE.get(code, {})}
    if code in IN_THE_TOKEN:
        api = Api(**IN_THE_TOKEN[code])
    elif code in IN_THE_BODY:
        changes = IN_THE_BODY[code]
        if (name, code) == ("closeCart", "cannot_change"):
            changes = {"outcome": "ordered"}
        request["content"] = {**body(name), **changes}
        request["headers"] = {"Prefer": "handling=strict"}
    elif code == "idempotency_key_reused":
        of_another = {"If-Match": '"4"'} if (name, code) in OF_ANOTHER_OPERATION else {}
        world.send(api, name, OPERATIONS[name].body, headers=request["headers"] | of_another)
    elif code == "cart_closed":
        ordered = {"outcome": "ordered", "reference": "order-1"}
        assert world.send(api, "closeCart", ordered).status_code == 200
    elif (name, code) == ("replaceItems", "item_not_found"):
        request["content"] = {
            "items": [{**item, "itemId": str(STRANGER)} for item in body(name)["items"]]
        }
    unchanged()

    answer = world.send(api, name, **request)
    assert (str(answer.status_code), errors_of(answer)[0][0]) == (status, code)
    if (name, code) not in OF_ANOTHER_OPERATION:
        assert_as_shown(answer, name, status, code)
