"""Change Cart: PATCH /carts/{cartId}, an extension."""

from collections.abc import Callable
from typing import Any

import pytest

from carts.models import Cart, CartChange
from tests.support import bodies
from tests.support.answers import problems, success
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, created_with_items, shown

CHANGE = {
    "platform": "web",
    "orderingChannel": "KIOSK",
    "fulfilmentChannel": "PICKUP",
    "note": "To the office",
    "specialInstructions": "Ring twice\nSecond floor",
}


def patch(api: Api, cart_id: str, body: Any, **headers: str) -> Any:
    return api.patch(f"/{cart_id}", body, **headers)


def test_changes_what_is_sent_and_nothing_else(api: Api) -> None:
    cart_id, _ = created_with_items(api, "Calzone", "Pizza")
    before = shown(api, cart_id)

    response = patch(api, cart_id, CHANGE)

    assert (response.status_code, response.json()) == (200, success("The cart was changed."))
    after = shown(api, cart_id)
    assert response["ETag"] == '"2"'
    assert after == before | CHANGE | {"version": 2, "modifiedOn": after["modifiedOn"]}
    assert after["modifiedOn"] > before["modifiedOn"]


@pytest.mark.parametrize("name", CHANGE)
def test_changes_one_member(api: Api, name: str) -> None:
    cart_id = created(api, bodies.bare_cart())
    before = shown(api, cart_id)

    assert patch(api, cart_id, {name: CHANGE[name]}).status_code == 200

    after = shown(api, cart_id)
    assert {n: v for n, v in after.items() if v != before[n]}.keys() == {
        name,
        "version",
        "modifiedOn",
    }
    [change] = CartChange.objects.all()
    assert (change.operation, change.item_id, change.version) == ("Change Cart", None, 2)
    assert list(change.now.values()) == [CHANGE[name]]
    assert list(change.was.values()) == [before[name]]
    assert change.subtotal_before == change.subtotal_after


def test_null_takes_a_text_away(api: Api) -> None:
    cart_id = created(api, bodies.cart(note="Hello", specialInstructions="Bye"))

    assert patch(api, cart_id, {"note": None, "specialInstructions": None}).status_code == 200

    cart = shown(api, cart_id)
    assert (cart["note"], cart["specialInstructions"]) == (None, None)


@pytest.mark.parametrize("body", [{}, {"platform": "ios-app"}, {"version": 7, "subtotal": 3}])
def test_what_is_held_already_changes_nothing(
    api: Api, unchanged: Callable[[], None], body: Any
) -> None:
    cart_id = created(api, bodies.cart(platform="ios-app"))
    unchanged()

    response = patch(api, cart_id, body, If_Match='"1"')

    assert (response.status_code, response.json()) == (200, success("The cart was changed."))
    assert response["ETag"] == '"1"'


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"platform": None}, [("null", "/platform")]),
        ({"orderingChannel": None}, [("null", "/orderingChannel")]),
        ({"fulfilmentChannel": None}, [("null", "/fulfilmentChannel")]),
        ({"platform": ""}, [("blank", "/platform")]),
        ({"platform": 0}, [("invalid_type", "/platform")]),
        ({"platform": False}, [("invalid_type", "/platform")]),
        ({"note": []}, [("invalid_type", "/note")]),
        ({"note": "x" * 301}, [("max_length", "/note")]),
        ({"platform": "x" * 51}, [("max_length", "/platform")]),
        ({"specialInstructions": "\x1b"}, [("control_character", "/specialInstructions")]),
        ({"partnerKey": "ACME"}, [("cannot_change", "/partnerKey")]),
        ({"restaurantKey": None}, [("cannot_change", "/restaurantKey")]),
        (
            {"currency": "EUR", "items": []},
            [("cannot_change", "/currency"), ("cannot_change", "/items")],
        ),
        ({"currency": 7, "note": 7}, [("cannot_change", "/currency"), ("invalid_type", "/note")]),
        ([], [("invalid_type", "")]),
        ("{", [("malformed_json", None)]),
    ],
    ids=str,
)
def test_refuses(api: Api, unchanged: Callable[[], None], body: Any, found: Any) -> None:
    cart_id = created(api)
    unchanged()

    response = patch(api, cart_id, body)

    assert response.status_code == 400
    assert problems(response) == found


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json", 200),
        ("application/merge-patch+json", 200),
        ("application/merge-patch+json; charset=utf-8", 200),
        ("application/json-patch+json", 415),
        ("text/plain", 415),
    ],
)
def test_takes_json_and_merge_patches(api: Api, media_type: str, status: int) -> None:
    cart_id = created(api)
    response = patch(api, cart_id, {"note": "x"}, Content_Type=media_type)
    assert response.status_code == status
    assert (shown(api, cart_id)["note"] == "x") == (status == 200)


def test_only_changes_take_merge_patches(api: Api, unchanged: Callable[[], None]) -> None:
    response = api.post(body=bodies.cart(), Content_Type="application/merge-patch+json")
    assert response.status_code == 415


def test_an_unknown_member_is_a_warning_or_strictly_refused(api: Api) -> None:
    cart_id = created(api)

    told = patch(api, cart_id, {"note": "a", "notes": "b"})
    strict = patch(api, cart_id, {"note": "c", "notes": "d"}, Prefer="handling=strict")

    assert [n["code"] for n in told.json()["notifications"]] == [None, "unknown_member"]
    assert (strict.status_code, problems(strict)) == (400, [("unknown_member", "/notes")])
    assert strict["Preference-Applied"] == "handling=strict"
    assert shown(api, cart_id)["note"] == "a"


def test_if_match(api: Api) -> None:
    cart_id = created(api)
    assert patch(api, cart_id, {"note": "a"}, If_Match='"1"').status_code == 200

    late = patch(api, cart_id, {"note": "b"}, If_Match='"1"')
    same = patch(api, cart_id, {"note": "a"}, If_Match='"1"')

    for response in (late, same):
        assert (response.status_code, response["ETag"]) == (412, '"2"')
        assert problems(response) == [("version_mismatch", "If-Match")]
    assert shown(api, cart_id)["note"] == "a"


def test_a_foreign_cart_is_not_found(api: Api, unchanged: Callable[[], None]) -> None:
    cart_id = created(api)
    unchanged()
    assert patch(Api(STRANGER), cart_id, CHANGE).status_code == 404
    assert patch(Api(PROFILE, partnerKey="EVIL"), cart_id, CHANGE).status_code == 404
    assert patch(api, STRANGER, CHANGE).status_code == 404
    assert patch(Api(scope="Cart.Read"), cart_id, CHANGE).status_code == 403


def test_a_changed_cart_takes_items_as_before(api: Api) -> None:
    cart_id = created(api)
    patch(api, cart_id, CHANGE)
    assert api.post(f"/{cart_id}/items", bodies.item()).status_code == 200
    assert Cart.objects.get().version == 3
