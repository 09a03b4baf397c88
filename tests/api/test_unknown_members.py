"""Members that the objects do not have: told, or refused when the caller prefers so."""

import json
from typing import Any

import pytest
from django.http import HttpResponse

from tests.support import bodies
from tests.support.answers import assert_refused, errors_of
from tests.support.callers import STRANGER, Api
from tests.support.carts import shown
from tests.support.operations import NARROWING, REQUESTS, WITH_A_BODY, after, send
from tests.support.table_contents import Unchanged

TEXT = "This object has no member of that name."

# In the order sent, those with null too; what is inside of an unknown member is not looked at.
MISSPELT = {
    **bodies.bare_cart(),
    "notes": None,
    "profile_key": str(STRANGER),
    "__class__": "Cart",
    "items": [
        bodies.item(),
        {
            **bodies.item(options=[{**bodies.option(), "a/b~c": 1}]),
            "specialInstruction": "x",
            "position": 7,
        },
    ],
    "tip": {"value": 1, "nonsense": 2},
}
TOLD = [
    *("/notes", "/profile_key", "/__class__", "/items/1/options/0/a~1b~0c"),
    *("/items/1/specialInstruction", "/items/1/position", "/tip"),
]


def warnings(response: HttpResponse) -> list[str]:
    """Return the fields of the warnings, once all else of them is as it must be."""
    assert response.status_code == 200, response.content
    first, *others = response.json()["notifications"]
    assert first["severity"] == "Success"
    fields: list[str] = [other["additionalData"]["field"] for other in others]
    assert others == [
        {
            "severity": "Warning",
            "text": TEXT,
            "code": "unknown_member",
            "additionalData": {"field": field},
        }
        for field in fields
    ]
    return fields


@pytest.mark.parametrize("prefer", ["", "handling=strict"])
def test_ten_are_told_with_shortened_names(api: Api, cart_id: str, prefer: str) -> None:
    names = [f"{number}" * 100 for number in range(200)]
    unknown, told = dict.fromkeys(names), [f"/{name[:64]}" for name in names[:10]]

    for name in ("Create Cart", "Close Cart"):
        response = send(api, name, cart_id, body=REQUESTS[name].body | unknown, Prefer=prefer)
        if prefer or name in NARROWING:
            assert errors_of(response) == [("unknown_member", field) for field in told]
        else:
            assert warnings(response) == told


def test_a_name_that_is_half_a_character_is_told(api: Api) -> None:
    body = '{"\\ud800": 1, ' + json.dumps(bodies.bare_cart())[1:]

    assert warnings(api.post(body=body)) == ["/?"]


LONG_AGO, MANY = "2001-01-01T00:00:00Z", 7_654_321
SHOWN_OF_A_CART = {
    **dict.fromkeys(["cartId", "profileKey"], str(STRANGER)),
    **dict.fromkeys(["createdOn", "modifiedOn"], LONG_AGO),
    **dict.fromkeys(["version", "subtotal", "itemCount"], MANY),
}
SHOWN_OF_AN_ITEM = {"itemId": str(STRANGER), "value": MANY}


@pytest.mark.parametrize("name", ["Create Cart", "Add Item", "Update Item", "Add Items"])
def test_what_reading_shows_may_be_sent_back_and_sets_nothing(
    api: Api, cart_id: str, item_id: str, name: str
) -> None:
    item = bodies.item(**SHOWN_OF_AN_ITEM)
    body = {
        "Create Cart": bodies.cart(**SHOWN_OF_A_CART, items=[item]),
        "Add Items": {"items": [item]},
    }

    response = send(api, name, cart_id, item_id, body.get(name, item), Prefer="handling=strict")

    assert warnings(response) == []
    found = api.get().json()["data"]["carts"]
    text = f"{found} {[shown(api, cart['cartId']) for cart in found]}"
    assert [value for value in (STRANGER, LONG_AGO, MANY) if str(value) in text] == []


def test_they_are_refused_at_any_depth(api: Api, cart_id: str, unchanged: Unchanged) -> None:
    strict = api.post(body=MISSPELT, Prefer="handling=strict")
    items = {name: MISSPELT[name] for name in MISSPELT if name not in bodies.bare_cart()}
    replacing = send(api, "Replace Items", cart_id, body=items, Prefer="handling=lenient")

    for response in (strict, replacing):
        assert response.status_code == 400
        assert errors_of(response) == [("unknown_member", field) for field in TOLD]
    assert strict["Preference-Applied"] == "handling=strict"


def test_they_are_ignored_and_told_else(api: Api) -> None:
    response = api.post(body=MISSPELT)

    assert warnings(response) == TOLD
    assert "Preference-Applied" not in response
    assert len(shown(api, response.json()["data"]["cartId"])["items"]) == 2


@pytest.mark.parametrize("name", WITH_A_BODY)
def test_every_operation_with_a_body_applies_strict_handling(
    api: Api, cart_id: str, item_id: str, name: str
) -> None:
    unknown = REQUESTS[name].body | {"topping": 1}

    refused = send(api, name, cart_id, item_id, unknown, Prefer="handling=strict")
    taken = send(api, name, cart_id, item_id, Prefer="handling=strict")

    assert_refused(refused, 400, "unknown_member", TEXT, "/topping")
    assert taken.status_code == 200
    api = after(name, api)
    assert {one["Preference-Applied"] for one in (refused, taken)} == {"handling=strict"}
    usual = send(api, name, cart_id, item_id, unknown)
    if name in NARROWING:
        assert_refused(usual, 400, "unknown_member", TEXT, "/topping")
    else:
        assert warnings(usual) == ["/topping"]
    removed = send(api, "Remove Item", cart_id, item_id, Prefer="handling=strict")
    assert "Preference-Applied" not in removed


def told(response: Any) -> list[tuple[str, str, str | None]]:
    return [
        (one["severity"], one["code"], (one["additionalData"] or {}).get("field"))
        for one in response.json()["notifications"]
    ]


@pytest.mark.parametrize("strict", [False, True])
def test_a_misspelt_required_member_is_missing_and_unknown(
    api: Api, unchanged: Unchanged, *, strict: bool
) -> None:
    body = bodies.cart()
    body["fulfillmentChannel"] = body.pop("fulfilmentChannel")

    response = api.post(body=body, Prefer="handling=strict" if strict else "")

    missing = ("Error", "required", "/fulfilmentChannel")
    assert response.status_code == 400
    if strict:
        assert told(response) == [("Error", "unknown_member", "/fulfillmentChannel"), missing]
    else:
        assert told(response) == [missing, ("Warning", "unknown_member", "/fulfillmentChannel")]
        assert response.json()["message"] == "/fulfilmentChannel: This field is required."


@pytest.mark.parametrize("number", [99, 100])
def test_an_answer_lists_a_hundred_problems_or_these_and_ten_warnings(
    api: Api, unchanged: Unchanged, number: int
) -> None:
    unknown = {f"unknown{each}": 1 for each in range(20)}
    response = api.post(body=bodies.cart(items=[bodies.item(quantity=0)] * number) | unknown)

    assert response.status_code == 400
    problems = [("Error", "min_value", f"/items/{each}/quantity") for each in range(99)]
    if number == 99:
        count = "99"
        warnings = [("Warning", "unknown_member", f"/{name}") for name in [*unknown][:10]]
        assert told(response) == [*problems, *warnings]
    else:
        count = "more than 99"
        assert told(response) == [*problems, ("Error", "more_problems", None)]
        *_, last = response.json()["notifications"]
        assert last["text"] == "There are more problems than these."
    assert response.json()["message"] == f"The request has {count} problems."


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("?offset=10", ["offset"]),
        ("?limit=5&page=2&page=3&order=x", ["page", "order"]),
        ("?" + "&".join(f"p{n}=1" for n in range(20)), [f"p{n}" for n in range(10)]),
        ("?" + "x" * 100 + "=1", ["x" * 64]),
    ],
)
def test_ten_unknown_parameters_of_a_list_are_told(api: Api, query: str, fields: list[str]) -> None:
    response = api.get(query)

    assert response.status_code == 400
    assert errors_of(response) == [("unknown_parameter", field) for field in fields]
