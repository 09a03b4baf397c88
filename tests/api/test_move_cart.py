from typing import Any

import pytest

from carts.models import Cart, CartChange, MovedCart
from tests.support import bodies
from tests.support.answers import assert_refused, errors_of, exact, success
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, shown
from tests.support.operations import CHANGES, send
from tests.support.table_contents import Unchanged

BODY = {"profileKey": str(STRANGER)}
NEW = Api(STRANGER)
NOT_FOUND = "This profile has no such cart."


@pytest.fixture
def cart(api: Api) -> dict[str, Any]:
    """Return a cart with items, options and a history."""
    cart_id = created(api, bodies.cart(items=3, options=2))
    send(api, "Change Cart", cart_id)
    return shown(api, cart_id)


def test_the_cart_goes_as_it_is(api: Api, cart: dict[str, Any]) -> None:
    cart_id = cart["cartId"]
    other = created(api)

    response = api.post(f"/{cart_id}/move", BODY)

    assert response.json() == success("The cart was moved.")
    assert response["ETag"] == '"3"'
    moved = shown(NEW, cart_id)
    assert moved == {
        **cart,
        "profileKey": str(STRANGER),
        "version": 3,
        "modifiedOn": moved["modifiedOn"],
    }
    assert_refused(api.get(f"/{cart_id}"), 404, "cart_not_found", NOT_FOUND)
    assert [one["cartId"] for one in api.get().json()["data"]["carts"]] == [other]
    assert [one["cartId"] for one in NEW.get().json()["data"]["carts"]] == [cart_id]
    history = [*CartChange.objects.filter(cart_id=cart_id)]
    assert [change.operation for change in history] == ["Change Cart", "Move Cart"]
    assert {change.profile_key for change in history} == {STRANGER}
    assert (history[1].old, history[1].new) == (
        {"profile_key": str(PROFILE)},
        {"profile_key": str(STRANGER)},
    )
    assert [*MovedCart.objects.values_list("cart_id", "profile_key", "moved_on")] == [
        (Cart.objects.get(pk=cart_id).pk, PROFILE, history[1].at)
    ]


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "Move Cart"])
def test_everything_can_be_done_to_it_afterwards(api: Api, cart: dict[str, Any], name: str) -> None:
    cart_id, item = cart["cartId"], cart["items"][1]["itemId"]
    send(api, "Move Cart", cart_id)
    version = {"If_Match": '"3"'}
    assert_refused(send(api, name, cart_id, item, **version), 404, "cart_not_found", NOT_FOUND)
    assert send(NEW, name, cart_id, item, **version).status_code == 200


def test_it_comes_back_and_goes_on(api: Api, cart: dict[str, Any]) -> None:
    cart_id = cart["cartId"]
    for caller, to in ((api, STRANGER), (NEW, PROFILE), (api, STRANGER)):
        assert caller.post(f"/{cart_id}/move", {"profileKey": str(to)}).status_code == 200
    assert shown(NEW, cart_id)["version"] == 5
    assert [one.profile_key for one in MovedCart.objects.all()] == [PROFILE]


def test_to_its_own_customer_changes_nothing(
    api: Api, cart: dict[str, Any], unchanged: Unchanged
) -> None:
    response = api.post(
        f"/{cart['cartId']}/move",
        {"profileKey": str(PROFILE).upper()},
        Prefer="return=representation",
    )
    assert response["ETag"] == '"2"'
    assert exact(response)["data"] == cart


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "required"),
        ({"profileKey": None}, "null"),
        ({"profileKey": 4711}, "invalid_type"),
        *(({"profileKey": key}, "invalid_guid") for key in ("", "x", STRANGER.hex)),
    ],
)
def test_refuses_what_is_no_customer(
    api: Api, cart: dict[str, Any], unchanged: Unchanged, body: Any, code: str
) -> None:
    response = api.post(f"/{cart['cartId']}/move", body)
    assert (response.status_code, errors_of(response)) == (400, [(code, "/profileKey")])


@pytest.mark.parametrize("name", ["version", "status", "itemId", "items"])
def test_what_a_read_shows_is_no_member(
    api: Api, cart: dict[str, Any], unchanged: Unchanged, name: str
) -> None:
    body = BODY | {name: 1}
    response = api.post(f"/{cart['cartId']}/move", body)
    text = "This object has no member of that name."
    assert_refused(response, 400, "unknown_member", text, f"/{name}")


def test_a_closed_cart_stays_of_its_own_customer_as_well(
    api: Api, cart: dict[str, Any], unchanged: Unchanged
) -> None:
    send(api, "Close Cart", cart["cartId"])
    unchanged()
    response = api.post(f"/{cart['cartId']}/move", {"profileKey": str(PROFILE)})
    assert (response.status_code, errors_of(response)) == (409, [("cart_closed", None)])


@pytest.mark.parametrize(
    ("scope", "missing"),
    [
        ("Cart.Read Cart.Write Cart.Close", ["Cart.AnyProfile"]),
        ("Cart.Read Cart.Close Cart.AnyProfile", ["Cart.Write"]),
        ("Cart.Read Cart.Close", ["Cart.Write", "Cart.AnyProfile"]),
    ],
)
def test_takes_both_scopes(
    cart: dict[str, Any], unchanged: Unchanged, scope: str, missing: list[str]
) -> None:
    customer = Api(scope=scope, profileKey=str(PROFILE))
    response = send(customer, "Move Cart", cart["cartId"])
    text = f"The token must carry {' and '.join(missing)}."
    assert_refused(response, 403, "insufficient_scope", text, scopes=missing)
    assert response["WWW-Authenticate"].endswith(f', scope="{" ".join(missing)}"')


def test_the_key_belongs_to_the_customer_in_the_path(api: Api, cart: dict[str, Any]) -> None:
    """Those of before still answer, and another move needs another key."""
    cart_id = cart["cartId"]
    before = api.post(f"/{cart_id}/items", bodies.item(), Idempotency_Key="before")
    key = {"Idempotency_Key": "moved", "Prefer": "return=representation"}

    first, again = (api.post(f"/{cart_id}/move", BODY, **key) for _ in "12")

    assert exact(first) == exact(again)
    assert first["ETag"] == again["ETag"] == '"4"'
    assert again["Idempotent-Replayed"] == "true"
    replay = api.post(f"/{cart_id}/items", bodies.item(), Idempotency_Key="before")
    assert replay.json() == before.json()
    other = api.post(f"/{cart_id}/move", {"profileKey": str(PROFILE)}, **key)
    assert errors_of(other) == [("idempotency_key_reused", "Idempotency-Key")]
    assert shown(NEW, cart_id)["version"] == 4
