"""Members that the objects do not have: told, or refused when the caller prefers so."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from tests.api.documented import served
from tests.support import bodies
from tests.support.answers import error, problems, success
from tests.support.callers import Api
from tests.support.carts import created, created_with_items, shown
from tests.support.stored import stored

TEXT = "This object has no member of that name."

# In the order sent, those with null too; what is inside of an unknown member is not looked at.
MISSPELT = {
    **bodies.bare_cart(),
    "notes": None,
    "items": [
        bodies.item(),
        {**bodies.item(options=[{**bodies.option(), "a/b~c": 1}]), "specialInstruction": "x"},
    ],
    "tip": {"value": 1, "nonsense": 2},
}
TOLD = ["/notes", "/items/1/options/0/a~1b~0c", "/items/1/specialInstruction", "/tip"]


def warnings(response: HttpResponse) -> list[str]:
    """Return the fields of the warnings, once all else of them is as it must be."""
    assert response.status_code == 200, response.content
    first, *others = response.json()["notifications"]
    assert first["severity"] == "Success"
    for other in others:
        assert other == {
            "severity": "Warning",
            "text": TEXT,
            "code": "unknown_member",
            "additionalData": other["additionalData"],
        }
    return [other["additionalData"]["field"] for other in others]


def test_are_ignored_and_told(api: Api) -> None:
    response = api.post(body=MISSPELT)

    assert warnings(response) == TOLD
    assert "Preference-Applied" not in response
    assert len(shown(api, response.json()["data"]["cartId"])["items"]) == 2


def test_ten_are_told_with_shortened_names(api: Api) -> None:
    names = [f"{number}" * 100 for number in range(20)]

    response = api.post(body={**bodies.bare_cart(), **dict.fromkeys(names)})

    assert warnings(response) == [f"/{name[:64]}" for name in names[:10]]


def test_a_name_that_is_half_a_character_is_told(api: Api) -> None:
    body = '{"\\ud800": 1, ' + json.dumps(bodies.bare_cart())[1:]

    assert warnings(api.post(body=body)) == ["/?"]


def test_what_reading_shows_may_be_sent_back_anywhere(api: Api) -> None:
    cart_id = created(api)
    read = api.get(f"/{cart_id}").json()["data"]

    response = api.post(body={**read, "itemCount": 9})

    assert response.json() == success(
        "The cart was created.", {"cartId": response.json()["data"]["cartId"]}
    )
    made = shown(api, response.json()["data"]["cartId"])
    assert (made["version"], made["cartId"] != cart_id) == (1, True)


class TestStrictHandling:
    """Prefer: handling=strict (RFC 7240)."""

    @pytest.mark.parametrize(
        "prefer",
        [
            "handling=strict",
            'handling="strict"',
            "Handling = strict",
            "respond-async, handling=strict; x=1",
            'foo="a, handling=lenient", handling=strict',
            "handling=strict, handling=lenient",
        ],
    )
    def test_refuses_them(self, api: Api, unchanged: Callable[[], None], prefer: str) -> None:
        response = api.post(body=MISSPELT, Prefer=prefer)

        assert response.status_code == 400
        assert problems(response) == [("unknown_member", field) for field in TOLD]
        assert response["Preference-Applied"] == "handling=strict"

    @pytest.mark.parametrize(
        "prefer",
        ["", "handling=lenient", "strict", "handling", "handling=strictly", "x-handling=strict",
         "handling=lenient, handling=strict", '"handling=strict', 'handling="strict;x"',
         "handling;x=strict"],
    )  # fmt: skip
    def test_is_not_asked_for_by(self, api: Api, prefer: str) -> None:
        response = api.post(body=MISSPELT, Prefer=prefer)

        assert warnings(response) == TOLD
        assert "Preference-Applied" not in response

    def test_tells_other_problems_too(self, api: Api, unchanged: Callable[[], None]) -> None:
        body = {**bodies.bare_cart(platform=5), "notes": 1}

        response = api.post(body=body, Prefer="handling=strict")

        assert problems(response) == [("unknown_member", "/notes"), ("invalid_type", "/platform")]

    @pytest.mark.parametrize("name", ["create", "add", "update", "change cart", "change item"])
    def test_of_every_operation_with_a_body(self, api: Api, name: str) -> None:
        cart_id, [item_id] = created_with_items(api, "Calzone")
        item = f"/{cart_id}/items/{item_id}"
        method, path, body = {
            "create": ("POST", "", bodies.cart()),
            "add": ("POST", f"/{cart_id}/items", bodies.item()),
            "update": ("PUT", item, bodies.item()),
            "change cart": ("PATCH", f"/{cart_id}", {"note": "x"}),
            "change item": ("PATCH", item, {"quantity": 7}),
        }[name]
        wrong = {**body, "topping": 1}
        before = stored()

        refused = api.request(method, path, wrong, Prefer="handling=strict")
        assert (refused.status_code, stored()) == (400, before)
        assert refused.json() == error("unknown_member", TEXT, "/topping")
        taken = api.request(method, path, body, Prefer="handling=strict")
        assert taken.status_code == 200
        for response in (refused, taken):
            assert response["Preference-Applied"] == "handling=strict"
        assert warnings(api.request(method, path, wrong)) == ["/topping"]
        removed = api.delete(item, Prefer="handling=strict")
        assert "Preference-Applied" not in removed


def told(response: Any) -> list[tuple[str, str, str | None]]:
    return [
        (one["severity"], one["code"], (one["additionalData"] or {}).get("field"))
        for one in response.json()["notifications"]
    ]


def test_a_misspelt_required_member_is_missing_and_unknown(
    api: Api, unchanged: Callable[[], None]
) -> None:
    body = bodies.cart()
    body["fulfillmentChannel"] = body.pop("fulfilmentChannel")

    response = api.post(body=body)

    assert response.status_code == 400
    assert told(response) == [
        ("Error", "required", "/fulfilmentChannel"),
        ("Warning", "unknown_member", "/fulfillmentChannel"),
    ]
    assert response.json()["message"] == "/fulfilmentChannel: This field is required."


def test_all_problems_and_warnings_that_an_answer_can_list_are_documented(api: Api) -> None:
    unknown = {f"unknown{number}": 1 for number in range(20)}
    response = api.post(body=bodies.cart(items=[bodies.item(quantity=0)] * 99) | unknown)

    counted = Counter(severity for severity, _, _ in told(response))
    assert counted == {"Error": 99, "Warning": 10}
    failure = served()["components"]["schemas"]["ErrorResponse"]
    assert failure["properties"]["notifications"]["maxItems"] == counted.total()


def test_no_warning_follows_more_problems_than_are_listed(
    api: Api, unchanged: Callable[[], None]
) -> None:
    response = api.post(body=bodies.cart(items=[{"unknown": 1}] * 50))

    assert response.status_code == 400
    assert {severity for severity, _, _ in told(response)} == {"Error"}
    assert told(response)[-1] == ("Error", "more_problems", None)


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("?offset=10", ["offset"]),
        ("?limit=5&page=2&page=3&sort=x", ["page", "sort"]),
        ("?" + "&".join(f"p{n}=1" for n in range(20)), [f"p{n}" for n in range(10)]),
        ("?" + "x" * 100 + "=1", ["x" * 64]),
        ("?limit=5", []),
    ],
)
def test_an_unknown_parameter_of_a_list_is_a_warning(
    api: Api, query: str, fields: list[str]
) -> None:
    response = api.get(query)

    assert response.status_code == 200
    assert told(response)[1:] == [("Warning", "unknown_parameter", field) for field in fields]
