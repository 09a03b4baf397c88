"""Each optional member and parameter of each operation: misspelt, null, and not sent.

A name that is ignored never lets an operation do more than was asked.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest

from carts.record_serializers import RecordSerializer
from cartsvc.member_names import json_pointer
from tests.api.ends_of_carts import ORDERED, close
from tests.api.openapi_document import id_of, operation, served
from tests.support.callers import PROFILE, Api
from tests.support.carts import created_with_items, shown
from tests.support.operations import CART_CHANGES, NARROWING, REQUESTS, WITH_A_BODY, send
from tests.support.table_contents import Unchanged, table_contents

Place = tuple[Any, ...]
WAYS = ("not sent", "null", "misspelt", "in another case")
OTHER_NAMES: dict[str, Callable[[str], str]] = {
    "misspelt": lambda name: name[:-1],
    "in another case": str.upper,
}


def optional_members(body: RecordSerializer, *place: Any, need_none: bool) -> Iterator[Place]:
    """Yield the places of the members that need not be sent, also in the elements of lists."""
    for name, field in body.fields.items():
        if need_none or not field.required:
            yield (*place, name)
        if child := getattr(field, "child", None):
            yield from optional_members(child, *place, name, 0, need_none=False)


MEMBERS = [
    (name, place)
    for name in WITH_A_BODY
    for declared in [REQUESTS[name].operation]
    for place in optional_members(declared.body, need_none=declared.body_is_optional)
]


def test_the_members_are_found() -> None:
    """So that the table below cannot be empty without a word."""
    narrowing = [(name, json_pointer(place)) for name, place in MEMBERS if name in NARROWING]
    assert narrowing == [
        *(("Close Cart", f"/{member}") for member in ("reference", "seconds", "orderReference")),
        ("Reopen Cart", "/reference"),
        *(
            ("Replace Items", f"/items/0/{member}")
            for member in ("options", "specialInstructions", "itemId")
        ),
    ]


def sent(name: str, place: Place, way: str, item_id: str) -> tuple[Any, str]:
    """Return the operation's valid body with a member sent in this way, and the member's name."""
    body = part = deepcopy(REQUESTS[name].body)
    *within, member = place
    for step in within:
        part = part[step]
    value = part.pop(member, {"itemId": item_id, "seconds": 60}.get(member, "x"))
    if way == "null":
        part[member] = None
    elif way in OTHER_NAMES:
        member = OTHER_NAMES[way](member)
        part[member] = value
    return body, json_pointer((*within, member))


def outcome(name: str, place: Place, way: str) -> tuple[Any, str, Any]:
    """Return what is told, the pointer to what was sent, and the cart if anything has changed.

    The cart is shown without its keys and times.
    """
    api = Api()
    cart_id, [item_id] = created_with_items(api, "Pizza")
    if name == "Reopen Cart":
        close(api, cart_id, ORDERED)
    before = table_contents()
    body, pointer = sent(name, place, way, item_id)

    response = send(api, name, cart_id, item_id, body, Prefer="handling=lenient")

    answer = response.json()
    told = [
        (one["severity"], one["code"], (one["additionalData"] or {}).get("field"))
        for one in answer["notifications"]
    ]
    assert response.status_code == (400 if told[0][0] == "Error" else 200)
    if table_contents() == before:
        return told, pointer, None
    cart = shown(api, answer.get("data", {}).get("cartId", cart_id))
    closed, until = (cart.pop(time) for time in ("closedOn", "closedUntil"))
    if until:
        cart["seconds"] = datetime.fromisoformat(until) - datetime.fromisoformat(closed)
    for item in cart["items"]:
        item["itemId"] = item["itemId"] == item_id
    return told, pointer, {n: cart[n] for n in cart.keys() - {"cartId", "createdOn", "modifiedOn"}}


SUCCESS = ("Success", None, None)


@pytest.mark.parametrize(("name", "place"), MEMBERS)
@pytest.mark.parametrize("way", WAYS)
def test_a_member(api: Api, name: str, place: Place, way: str) -> None:
    told, pointer, cart = outcome(name, place, way)
    told_without, _, cart_without = outcome(name, place, "not sent")

    if way == "not sent":
        required = (name, place) in {(n, ("reference",)) for n in ("Close Cart", "Reopen Cart")}
        assert told == [("Error", "required", pointer) if required else SUCCESS]
        assert (cart is None) == required or name in {"Change Cart", "Change Item"}
    elif way in OTHER_NAMES and name in NARROWING:
        missing = [one for one in told_without if one != SUCCESS]
        assert told == [("Error", "unknown_member", pointer), *missing]
        assert cart is None
    elif way in OTHER_NAMES:
        assert told == [*told_without, ("Warning", "unknown_member", pointer)]
        assert cart == cart_without
    elif name == "Reopen Cart" or place in {*((m,) for m in CART_CHANGES[:3]), ("quantity",)}:
        assert (told, cart) == ([("Error", "null", pointer)], None)
    elif name in {"Change Cart", "Change Item"}:
        assert told == [SUCCESS]
    else:
        assert (told, cart) == (told_without, cart_without)


QUERIES = {
    name: [
        one["name"]
        for one in operation(served(), id_of(name))["parameters"]
        if one["in"] == "query"
    ]
    for name in REQUESTS
}


def asked(name: str, cart_id: str, item_id: str, query: str) -> Any:
    """Return the status, and each notification's severity, code and field."""
    api, request = Api(scope="Cart.Read Cart.Write Cart.Close Cart.AnyProfile"), REQUESTS[name]
    api.base = request.path.format(profileKey=PROFILE, cartId=cart_id, itemId=item_id)
    response = api.request(request.method, f"?{query}", request.body, Prefer="handling=lenient")
    return response.status_code, [
        (one["code"], (one["additionalData"] or {}).get("field"))
        for one in response.json()["notifications"]
    ]


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, one) for name, every in QUERIES.items() for one in every]
)
def test_a_parameter(api: Api, unchanged: Unchanged, name: str, parameter: str) -> None:
    for other in (change(parameter) for change in OTHER_NAMES.values()):
        for query in (f"{other}=1", other, f"limit=1&{other}=1"):
            assert asked(name, "", "", query) == (400, [("unknown_parameter", other)])
    for no_value in ("", "null", "undefined"):
        refused = [("invalid_parameter", parameter)]
        assert asked(name, "", "", f"{parameter}={no_value}") == (400, refused)
    assert asked(name, "", "", "") == (200, [(None, None)])


@pytest.mark.parametrize("name", [name for name, every in QUERIES.items() if not every])
def test_a_parameter_of_an_operation_without_any(api: Api, name: str) -> None:
    cart_id, [item_id] = created_with_items(api, "Pizza")
    assert asked(name, cart_id, item_id, "limit=0&reference=x") == (200, [(None, None)])
