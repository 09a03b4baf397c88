"""Change Cart: PATCH /carts/{cartId}, an extension."""

from collections.abc import Callable
from typing import Any

import pytest

from carts.models import CartChange
from tests.support import bodies
from tests.support.answers import problems, success
from tests.support.callers import Api
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
        (
            {"currency": "EUR", "items": []},
            [("cannot_change", "/currency"), ("cannot_change", "/items")],
        ),
        ({"currency": 7, "note": 7}, [("cannot_change", "/currency"), ("invalid_type", "/note")]),
    ],
    ids=str,
)
def test_tells_all_that_is_wrong(
    api: Api, unchanged: Callable[[], None], body: Any, found: Any
) -> None:
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
